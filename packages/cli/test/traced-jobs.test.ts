import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const launcherProgram = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const fixture = fileURLToPath(new URL('./fixtures/faulty-rank.ts', import.meta.url));
const execute = promisify(execFile);

/** What `coll trace` says, and the events of its timeline. */
interface Traced {
  readonly verdict: { readonly kind: string; readonly ranks: readonly number[]; readonly sentence: string };
  readonly events: readonly {
    readonly ph: string;
    readonly args: { readonly state?: string; readonly waitedMicros?: number; readonly waitedFor?: number };
  }[];
}

/** Runs a job whose rank 2 does something wrong, and calls `coll trace` until `find` finds something in what it says. */
async function traced<T>(fault: string, find: (trace: Traced) => T | undefined): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-traced-'));
  const records = path.join(folder, 'records');
  const env = { ...process.env, COLL_RECORD_DIR: records };
  const job = spawn(process.execPath, [launcherProgram, 'run', '-n', '3', fixture, '2', fault, folder], {
    env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => job.once('exit', resolve));
  try {
    while (!existsSync(path.join(folder, 'fault'))) await after(100);
    const timeline = path.join(folder, 'timeline.json');
    for (;;) {
      const args = ['trace', '--json', '--out', timeline, records];
      const { stdout } = await execute(process.execPath, [launcherProgram, ...args], { env });
      const { traceEvents } = JSON.parse(readFileSync(timeline, 'utf8'));
      const found = find({ verdict: JSON.parse(stdout).verdict, events: traceEvents });
      if (found !== undefined) return found;
      await after(200);
    }
  } finally {
    job.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  }
}

/** Waits until a verdict names a rank, and returns this verdict. */
const verdictOn = (fault: string) =>
  traced(fault, ({ verdict }) => (verdict.ranks.length > 0 && verdict.kind !== 'slow' ? verdict : undefined));

/** Runs a job to its end, and returns its exit code and the names of the records that it leaves. */
async function runFor(fault: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-traced-'));
  const records = path.join(folder, 'records');
  const env = { ...process.env, COLL_RECORD_DIR: records };
  try {
    const job = spawn(process.execPath, [launcherProgram, 'run', '-n', '3', fixture, '2', fault, folder], {
      env,
      stdio: 'ignore',
    });
    const [code] = await once(job, 'exit');
    return { code, left: readdirSync(records).length };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the records of a job', () => {
  it('are removed by coll run if all ranks exit with code 0, even after a failed call', async () => {
    expect(await runFor('caught')).toEqual({ code: 0, left: 0 });
  });

  it('stay if a rank has failed', async () => {
    expect(await runFor('kill')).toEqual({ code: 137, left: 3 });
  });
});

describe('coll trace on a job of processes', () => {
  it.each([
    ['kill', 'killed'],
    ['kill alone', 'killed'],
    ['stop', 'stopped'],
    ['loop', 'busy'],
    ['idle', 'absent'],
    ['op', 'wrong-call'],
    ['exit', 'exited'],
    ['throw', 'failed'],
  ])('names the rank after this fault: %s', async (fault, kind) => {
    const verdict = await verdictOn(fault);
    expect({ kind: verdict.kind, ranks: verdict.ranks }, verdict.sentence).toEqual({ kind, ranks: [2] });
  });

  it('shows how long asynchronous calls have waited so far, and for which rank', async () => {
    const waits = await traced('idle', ({ events }) => {
      const waiting = events.filter(({ ph, args }) => ph === 'X' && args.state === 'waiting');
      // Longer than the thread that made the call waits.
      const long = waiting.filter(({ args: { waitedMicros = 0 } }) => waitedMicros > 1e6);
      return long.length >= 2 ? long.map(({ args }) => args.waitedFor) : undefined;
    });
    expect(waits).toEqual([2, 2]);
  });
});
