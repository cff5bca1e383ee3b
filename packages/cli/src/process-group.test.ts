import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { endGroup, groupEnds, isGroupAlive } from './process-group.js';

const started: number[] = [];
afterEach(() => {
  for (const pid of started.splice(0)) endGroup(pid, 'SIGKILL');
});

/** Starts a shell in a group of its own, which prints the number of a group. */
async function groupPrintedBy(script: string): Promise<number> {
  const shell = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(shell.pid as number);
  const [printed] = (await once(shell.stdout, 'data')) as [Buffer];
  return Number(printed.toString());
}

it('ends with its last process', async () => {
  const group = await groupPrintedBy('echo $$; sleep 0.2 & sleep 100 &');
  expect(await groupEnds(group, 0.5)).toBe(false);
  endGroup(group, 'SIGTERM');
  expect(await groupEnds(group, 60)).toBe(true);
});

it.runIf(process.platform === 'linux')('has ended where only zombies are left of it', async () => {
  // The second sleep takes the place of the shell, and does not ask how its child has ended.
  const group = await groupPrintedBy("setsid sh -c 'echo $$' & exec sleep 100");
  expect(await groupEnds(group, 60)).toBe(true);
  expect(isGroupAlive(group)).toBe(true);
});
