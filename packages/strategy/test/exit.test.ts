import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program until it ends by itself; what does not end in time is killed, and has no exit code. */
function outcomeOf(program: string, ...args: readonly string[]): Promise<Outcome> {
  const file = fileURLToPath(new URL(`./fixtures/${program}`, import.meta.url));
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, [file, ...args], { env, timeout: 240_000, killSignal: 'SIGKILL' });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...text }));
  });
}

const isClean = { code: 0, stderr: '' };
const linesOf = (replica: number, length: number) =>
  Array.from({ length }, (_, line) => `[${replica}] line ${line} of replica ${replica}`);

describe.concurrent('a program', () => {
  it.each(['never closes', 'closes and is used no more', 'awaits nothing', 'leaves timers in threads'])(
    'that %s exits by itself',
    async (way) => {
      expect(await outcomeOf('program.js', way)).toEqual({ ...isClean, stdout: 'done\n' });
    },
  );

  it('in plain JavaScript exits by itself', async () => {
    expect(await outcomeOf('program.mjs')).toEqual({ ...isClean, stdout: '2 2 2 2\n' });
  });

  it.each(['throws in a replica of this thread', 'throws in a thread'])(
    'that %s fails with the error of the replica',
    async (way) => {
      const { code, stdout, stderr } = await outcomeOf('program.js', way);
      expect([code, stdout]).toEqual([1, '']);
      // Said once: by the error that the program did not catch.
      expect(stderr.match(/replica 1: boom/g)).toHaveLength(1);
      expect(stderr).not.toMatch(/unhandled/i);
    },
  );

  it('that catches errors of replicas exits with code 0', async () => {
    const stdout = 'replica 1: boom\nreplica 1: boom\n';
    expect(await outcomeOf('program.js', 'catches what replicas throw')).toEqual({ ...isClean, stdout });
  });

  it('that leaves timers in failing threads exits', async () => {
    const outcome = await outcomeOf('program.js', 'leaves timers in threads and fails');
    expect(outcome).toEqual({ ...isClean, stdout: 'replica 0: boom\n' });
  });

  it.each(['in a busy loop', 'in Atomics.wait', 'in an all-reduce'])(
    'that calls process.exit while a replica is %s has its exit code',
    async (where) => {
      expect(await outcomeOf('program.js', 'leaves by process.exit', where)).toEqual({
        code: 3,
        stdout: '',
        stderr: '',
      });
    },
  );

  it('fails with its own error if it throws while threads run', async () => {
    const { code, stderr } = await outcomeOf('program.js', 'throws while threads run');
    expect(code).toBe(1);
    expect(stderr).toMatch(/Error: from the program/);
  });

  it('that waits for a promise that never resolves is ended by Node with code 13', async () => {
    const { code, stdout } = await outcomeOf('program.js', 'waits for ever in one thread');
    expect([code, stdout]).toEqual([13, 'waiting\n']);
  });

  it.each([
    ['leaves', 0, [...linesOf(0, 2000), ...linesOf(1, 2000)]],
    ['fails', 4, linesOf(1, 60_000)],
  ] as const)('that prints in threads and %s loses no line', async (then, code, lines) => {
    const outcome = await outcomeOf('program.js', `prints in threads and ${then}`);
    expect(outcome).toMatchObject({ code, stderr: '' });
    expect(outcome.stdout.trimEnd().split('\n').sort()).toEqual([...lines].sort());
  });
});
