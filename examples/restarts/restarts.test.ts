import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./main.js', import.meta.url));
const launcher = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));
/** Draws the processes that are killed, and when. */
const seed = process.env['COLL_TEST_SEED'] ?? '1';
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'coll-restarts-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function train(...args: readonly string[]) {
  const command = [launcher, 'run', '-n', '2', '--max-restarts', '3', program, ...args];
  return await promisify(execFile)(process.execPath, command);
}

describe('a training in two processes with two threads each', () => {
  it('ends with the same weights, bit by bit, if processes are killed and the program restarts', async () => {
    const undisturbed = await train(path.join(folder, 'undisturbed'));
    const weights = /weights [0-9a-f]{16}/.exec(undisturbed.stdout)?.[0] as string;
    expect(undisturbed.stdout.match(/\d+ epochs are done/g)).toEqual(['0 epochs are done']);
    const killed = await train(path.join(folder, 'killed'), seed);
    expect(killed.stderr).toMatch(/was ended by SIGKILL.*; restart 1 of 3/);
    expect(killed.stdout).toContain(weights);
    const epochs = killed.stdout.match(/\d+(?= epochs are done)/g)?.map(Number) as number[];
    expect(epochs.length).toBeGreaterThan(1);
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
  });
});
