import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { GroupEnder, isGroupAlive } from './process-group.js';
import { runningGroups } from './process-stat.js';

const started: number[] = [];
afterEach(async () => {
  const ender = new GroupEnder();
  await Promise.all(started.splice(0).map((pid) => ender.end(pid, 0)));
});

/** Starts a shell in its own group. Returns the group number that the script prints. */
async function groupPrintedBy(script: string): Promise<number> {
  const shell = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(shell.pid as number);
  const [printed] = (await once(shell.stdout, 'data')) as [Buffer];
  return Number(printed.toString());
}

const isOver = (group: number) => !isGroupAlive(group) || runningGroups()?.has(group) === false;

it('a process group ends when its last process ends', async () => {
  const group = await groupPrintedBy(`echo $$; (trap "" TERM; sleep 1; exec sleep 600) & sleep 600 &`);
  await new GroupEnder().end(group, 0.5);
  expect(isOver(group)).toBe(true);
});

it('process groups that are ended together get the signal before one of them is waited for', async () => {
  const calls: (readonly unknown[])[] = [];
  const kill = vi.spyOn(process, 'kill').mockImplementation((...call) => {
    calls.push(call);
    throw new Error('no such process');
  });
  try {
    const ender = new GroupEnder();
    await Promise.all([ender.end(1001, 0), ender.end(1002, 0)]);
  } finally {
    kill.mockRestore();
  }
  expect(calls.slice(0, 2)).toEqual([
    [-1001, 'SIGTERM'],
    [-1002, 'SIGTERM'],
  ]);
});

it.runIf(process.platform === 'linux')('a process group that contains only zombies has ended', async () => {
  // `sleep` replaces the shell and does not wait for its child, which therefore stays a zombie.
  const group = await groupPrintedBy("setsid sh -c 'echo $$' & exec sleep 600");
  await new GroupEnder().end(group, 600);
  expect(isGroupAlive(group)).toBe(true);
  expect(isOver(group)).toBe(true);
});
