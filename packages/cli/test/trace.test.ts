import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Launcher, type Outcome, Running } from './launcher.js';
import { type MadeRecord, recordedMemory } from './recorded-memory.js';

const launcher = new Launcher();
beforeAll(() => launcher.build());
afterAll(() => launcher.remove());

/** A folder with the records of two ranks in this process. */
function folderOf(name: string, ranks: readonly MadeRecord[]): string {
  const folder = path.join(launcher.folder, name);
  mkdirSync(folder, { mode: 0o700 });
  for (const [rank, made] of ranks.entries()) {
    const thread = { host: hostname(), thread: rank, ...made.thread };
    writeFileSync(
      path.join(folder, `${rank}.coll`),
      recordedMemory({ ...made, thread, identity: { rank, ...made.identity } }),
    );
  }
  return folder;
}

function trace(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return new Running(launcher.command('trace', ...args), { env: { ...process.env, ...env } }).outcome;
}

describe('coll trace', () => {
  it('prints a verdict and a line for each rank of the newest job in the folder', async () => {
    const folder = folderOf('healthy', [{}, {}]);
    const { code, stdout, stderr } = await trace([], { COLL_RECORD_DIR: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^all 2 ranks have made the same 3 calls; nothing waits\n\nrank +pid +calls +bytes/);
    expect(stdout).toMatch(/^ +1 +\d+\/1 +3 +12 kB/m);
  });

  it('names an exited rank that others wait for, as JSON, and writes a timeline', async () => {
    const ended: MadeRecord = { calls: 2, act: (recorder) => recorder.close(3), thread: { process: 'other' } };
    const folder = folderOf('exited', [{ isWaiting: true, thread: { process: 'one' } }, ended]);
    const out = path.join(launcher.folder, 'timeline.json');
    const { code, stdout } = await trace([folder, '--json', '--out', out]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      verdict: { kind: 'exited', ranks: [1], waiting: [0], call: { number: 3, verb: 'all-reduce' } },
      ranks: [{ rank: 0 }, { rank: 1 }],
      unread: [],
    });
    const { traceEvents } = JSON.parse(readFileSync(out, 'utf8'));
    const calls = traceEvents.filter(({ ph }: { ph: string }) => ph === 'X');
    expect(calls).toHaveLength(6);
    expect(calls[0]).toMatchObject({
      name: 'all-reduce',
      args: { number: 0, dtype: 'float32', algorithm: 'ring', bytes: 4096 },
    });
    const names = traceEvents.filter(({ name }: { name: string }) => name === 'thread_name');
    expect(names.map(({ args }: { args: { name: string } }) => args.name)).toEqual(['rank 0, main', 'rank 1, main']);
  });

  it('finds a job by its name', async () => {
    const folder = folderOf('jobs', [
      { thread: { job: 'one', process: 'a' }, identity: { id: 'group-a', size: 1 } },
      { thread: { job: 'two', process: 'b', pid: 77 }, identity: { id: 'group-b', size: 1, rank: 0 } },
    ]);
    const env = { COLL_RECORD_DIR: folder };
    expect((await trace(['one'], env)).stdout).toContain('note: this is one of 2 jobs; others: two');
    expect((await trace(['77'], env)).stdout).toContain('note: this is one of 2 jobs; others: one');
    const { code, stderr } = await trace(['three'], env);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `coll trace: no job, pid or group in ${folder} is called "three"; there are two, one\n`,
    });
  });

  it('lists files that it cannot read, and follows no links', async () => {
    const folder = folderOf('damaged', [{}, {}]);
    writeFileSync(path.join(folder, 'short.coll'), 'COLLREC1');
    symlinkSync(path.join(folder, '0.coll'), path.join(folder, 'link.coll'));
    const { code, stderr } = await trace([folder]);
    expect(code).toBe(0);
    expect(stderr).toBe(
      `coll trace: ${folder}/link.coll: it is a link, which is not followed\ncoll trace: ${folder}/short.coll: not a record: it has 8 bytes\n`,
    );
  });

  it('ends if nobody reads its output', async () => {
    const { child } = new Running(launcher.command('trace', folderOf('unread', [{}, {}])), {});
    child.stdout?.destroy();
    expect(await once(child, 'exit')).toEqual([141, null]);
  });

  it('exits with code 1 without records, and with code 2 for wrong arguments', async () => {
    const { code, stderr } = await trace(['/nowhere']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'coll trace: /nowhere: it does not exist\ncoll trace: no records in /nowhere\n',
    });
    expect((await trace(['--last', '0'])).code).toBe(2);
    const folder = folderOf('written', [{}, {}]);
    expect((await trace([folder, '--out', path.join(folder, '0.coll')])).code).toBe(2);
    expect((await trace([folder, '--out', '/nowhere/x.json'])).code).toBe(2);
  });
});
