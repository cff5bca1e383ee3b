import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { type Case, replica, type Trained } from './fixtures/training.ts';

const cases: readonly Case[] = [
  { optimizer: 'sgd', rows: 32, batches: { batchSize: 8, seed: 1 } },
  { optimizer: 'adam', rows: 32, batches: { batchSize: 8, seed: 2 }, options: { bytesPerPack: 64 } },
  // The last batch has parts of unequal size, then a replica without a part.
  { optimizer: 'sgd', rows: 27, batches: { batchSize: 8, seed: 3 } },
  { optimizer: 'adam', rows: 25, batches: { batchSize: 8 } },
  { optimizer: 'sgd', rows: 25, batches: { batchSize: 8, seed: 4, remainder: 'drop' } },
];

const strategyOf = (replicas: number) =>
  new MirroredStrategy({
    devices: Array.from({ length: replicas }, (_, index) => `cpu:${index}`),
    crossDeviceOps: direct,
  });

const alone = await (async () => {
  await using strategy = strategyOf(1);
  return (await strategy.run((context) => replica(context, cases))) as Trained[];
})();

/** All replicas have equal bits, and the losses and parameters of one replica with the whole batches. */
function expectEqual(replicas: readonly (readonly Trained[])[]): void {
  for (const trained of replicas) {
    expect(trained.map(({ bits }) => bits)).toEqual(replicas[0]?.map(({ bits }) => bits));
    for (const [index, { losses, params }] of trained.entries()) {
      const expected = alone[index] as Trained;
      expect(losses.length).toBe(expected.losses.length);
      for (const [at, loss] of losses.entries()) expect(loss).toBeCloseTo(expected.losses[at] as number, 5);
      for (const [at, value] of params.entries()) expect(value).toBeCloseTo(expected.params[at] as number, 4);
    }
  }
}

it('losses become smaller, and batches are as many as said', () => {
  expect(alone.map(({ losses }) => losses.length)).toEqual([8, 8, 8, 8, 6]);
  for (const { losses } of alone) expect(losses.at(-1)).toBeLessThan(losses[0] as number);
});

it.each([2, 3])('%i replicas in one thread train as one', async (replicas) => {
  await using strategy = strategyOf(replicas);
  const results = await strategy.run((context) => replica(context, cases));
  expectEqual(strategy.experimentalLocalResults(results) as Trained[][]);
});

it('two replicas in threads train as one', async () => {
  await using strategy = strategyOf(2);
  const module = new URL('./fixtures/training.ts', import.meta.url);
  const results = await strategy.run<typeof import('./fixtures/training.ts')>(module, { args: [cases] });
  expectEqual(strategy.experimentalLocalResults(results) as Trained[][]);
});

it('two replicas in processes train as one', async () => {
  const launcher = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
  const program = fileURLToPath(new URL('./fixtures/processes.ts', import.meta.url));
  const command = [launcher, 'run', '-n', '2', program, JSON.stringify(cases)];
  const { stdout } = await promisify(execFile)(process.execPath, command, { maxBuffer: 2 ** 24 });
  const lines = stdout.trim().split('\n').sort();
  expectEqual(lines.map((line) => JSON.parse(line.replace(/^\[\d\] /, ''))));
});
