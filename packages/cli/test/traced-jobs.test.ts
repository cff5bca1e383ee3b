import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const launcherProgram = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const fixture = fileURLToPath(new URL('./fixtures/faulty-rank.ts', import.meta.url));
const execute = promisify(execFile);

/** Runs a job whose rank 2 does something wrong, and returns the first verdict that names a rank. */
async function verdictOn(fault: string) {
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
    for (;;) {
      const { stdout } = await execute(process.execPath, [launcherProgram, 'trace', '--json', records], { env });
      const { verdict } = JSON.parse(stdout);
      if (verdict.ranks.length > 0 && verdict.kind !== 'slow') return verdict;
      await after(200);
    }
  } finally {
    job.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  }
}

describe('coll trace on a job of processes', () => {
  it.each([
    ['kill', 'killed'],
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
});
