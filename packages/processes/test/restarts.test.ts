import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { JobProcesses } from '../../rendezvous/test/job-processes.ts';
import type { Progress } from './fixtures/generations.ts';

const launcherProgram = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
const fixture = fileURLToPath(new URL('./fixtures/restarted-rank.ts', import.meta.url));

it('a restart of coll run opens a new group and refuses processes of the previous one', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-restarts-'));
  const [begun, outcome] = [path.join(folder, 'begun'), path.join(folder, 'outcome')];
  const options = ['-n', '2', '--max-restarts', '1', '--timeout', '240'];
  const program = [launcherProgram, 'run', ...options, fixture, begun, outcome];
  const { NODE_OPTIONS: _, ...env } = process.env;
  const launcher = spawn(process.execPath, program, { env });
  const [stdout, stderr] = await Promise.all([text(launcher.stdout), text(launcher.stderr)]);
  expect(stderr).toBe('coll run: rank 1 exited with code 3; ended rank 0; restart 1 of 1\n');
  expect(stdout.trimEnd().split('\n').sort()).toEqual(['[0] generation 1: sum 3', '[1] generation 1: sum 3']);
  expect(JSON.parse(readFileSync(outcome, 'utf8'))).toMatchObject({
    name: 'UnavailableError',
    code: 'ERR_COLL_STORE',
    message: expect.stringMatching(/^generation 0 has ended, because rank 1 joined generation 1; /),
  });
  rmSync(folder, { recursive: true });
});

it('after a member was lost while opening a group, the others and a replacement open the next generation', async () => {
  const environments = [0, 1, 2, 2].map((rank) => ({ COLL_RANK: String(rank), COLL_SIZE: '3' }));
  await using job = await JobProcesses.start(new URL('./fixtures/generations.ts', import.meta.url), environments);
  await using store = await job.store();
  const [first, second, lost, spare] = job.children as [ChildProcess, ChildProcess, ChildProcess, ChildProcess];
  const progress = [first, second, spare].map(progressOf);
  second.send(0);
  lost.send(0);
  await store.get('job/test/generation/0/peers/2');
  lost.kill('SIGKILL');
  await once(lost, 'exit');
  first.send(0);
  spare.send(1);
  expect(await Promise.all(progress)).toEqual([[{ lost: 2 }, { sum: 6 }], [{ lost: 2 }, { sum: 6 }], [{ sum: 6 }]]);
});

/** All that a process tells until it ends. */
async function progressOf(child: ChildProcess): Promise<readonly Progress[]> {
  const list: Progress[] = [];
  child.on('message', (progress: Progress) => list.push(progress));
  await once(child, 'exit');
  return list;
}
