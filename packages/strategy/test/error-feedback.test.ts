import { fromBfloat16, toBfloat16 } from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import { errorFeedback, gradient, run, steps } from './fixtures/error-feedback.js';
import { runWorkers } from './worker-processes.js';
import { closeGroups, cpus, workersHere } from './workers-here.js';

afterEach(closeGroups);

const rounded = (value: number) => fromBfloat16(toBfloat16(value));

/** What the plug-in must return if packs do not matter: error and rounding of each element alone. */
function expectedSteps(devices: number): number[][][] {
  const errors = [0, 1].map(() => new Map<string, number>());
  return steps.map(([names], step) => {
    const sumOf = (name: string, index: number) => {
      const sent = [0, 1].map((worker) => {
        const key = `${name} ${index}`;
        const own = errors[worker] as Map<string, number>;
        const here = devices * (gradient(name, worker, step)[index] as number);
        const wanted = Math.fround(here + (own.get(key) ?? 0));
        own.set(key, Math.fround(wanted - rounded(wanted)));
        return rounded(wanted);
      });
      return rounded(Math.fround((sent[0] as number) + (sent[1] as number)));
    };
    return names.map((name) => Array.from(gradient(name, 0, step), (_, index) => sumOf(name, index)));
  });
}

describe('a plug-in that keeps the error of each value for the next step', () => {
  it.each([
    [1, 1],
    [1, 3],
    [2, 2],
  ])('finds it by name in any packs, with %i devices per worker and %i packs', async (devices, numPacks) => {
    const crossDeviceOps = { name: errorFeedback, options: { numPacks } };
    const strategies = await workersHere(2, devices, { crossDeviceOps });
    const results = await Promise.all(
      strategies.map(async (strategy, worker) => {
        await using own = strategy;
        const sums = await own.run((context) => run(context, worker));
        return own.experimentalLocalResults(sums as unknown);
      }),
    );
    const expected = cpus(devices).map(() => expectedSteps(devices));
    expect(results).toEqual([expected, expected]);
  });

  it.each([1, 2])('finds it in worker processes with %i replicas in threads each', async (replicas) => {
    const ends = await runWorkers('error-feedback-worker.js', 2, [String(replicas)]);
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const expected = cpus(replicas).map(() => expectedSteps(replicas));
    expect(ends.map(({ stdout }) => JSON.parse(stdout))).toEqual([expected, expected]);
  });
});
