import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const launcher = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
const module = fileURLToPath(new URL('./fixtures/tried.ts', import.meta.url));

async function triedWith(...args: readonly string[]) {
  const options = ['--replicas', '1,2', '--seconds', '0.5', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [launcher, 'try', ...options, module, ...args]);
  return JSON.parse(stdout);
}

it('coll try counts steps and samples of distributedOptimizer in fit, with one replica too', async () => {
  const { unit, runs } = await triedWith('fit', '8');
  expect(unit).toBe('samples');
  expect(runs.map(({ samplesPerStep }: { samplesPerStep: number }) => samplesPerStep)).toEqual([
    expect.closeTo(8),
    expect.closeTo(16),
  ]);
});

it('coll try counts steps of reduceGradients, whose samples are not known', async () => {
  const { unit, runs, notes } = await triedWith('loop', '8');
  expect({ unit, runs }).toMatchObject({ unit: 'steps', runs: [{ replicas: 1 }, { replicas: 2 }] });
  for (const run of runs) expect(run).not.toHaveProperty('samplesPerSecond');
  expect(notes[0]).toMatch(/^the number of samples is not known, .* as if each replica had the same batch in all runs/);
});
