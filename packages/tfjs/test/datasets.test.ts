import { PerReplica } from '@coll/core';
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FitDataset, fitDataset } from './fixtures/fit-dataset.ts';

const module = new URL('./fixtures/fit-dataset.ts', import.meta.url);
const cpu = (count: number) => Array.from({ length: count }, (_, index) => `cpu:${index}`);
const strategyOf = (replicas: number) => new MirroredStrategy({ devices: cpu(replicas), crossDeviceOps: direct });
const two = strategyOf(2);

beforeAll(() => tf.enableProdMode());

describe.each(['cpu', 'wasm'])('tf.data on the %s backend', (backend) => {
  beforeAll(async () => {
    await tf.setBackend(backend);
  });

  interface Element extends tf.TensorContainerObject {
    readonly xs: tf.Tensor;
    readonly ys: tf.Tensor;
  }

  /** Batches of four and a last one of three; rows of two numbers and a label of text. */
  const dataset = () =>
    tf.data
      .array(Array.from({ length: 11 }, (_, index) => ({ xs: [index, -index], ys: `label ${index}` })))
      .batch(4) as unknown as tf.data.Dataset<Element>;

  const rows = (value: unknown) => (value as PerReplica<tf.Tensor>).values.map((part) => part.arraySync());

  it('is split between replicas, and no other tensors stay allocated', async () => {
    const before = tf.memory().numTensors;
    const seen: unknown[] = [];
    for await (const step of two.experimentalDistributeDataset(dataset())) {
      expect(step.xs).toBeInstanceOf(PerReplica);
      seen.push([rows(step.xs), rows(step.ys)]);
      tf.dispose([...(step.xs as PerReplica<tf.Tensor>).values, ...(step.ys as PerReplica<tf.Tensor>).values]);
    }
    const xs = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => [from + at, -from - at || 0]);
    expect(seen).toEqual(
      [
        [0, 2, 4],
        [4, 6, 8],
        [8, 10, 11],
      ].map(([a, b, c]) => [
        [xs(a as number, b as number), xs(b as number, c as number)],
        [xs(a as number, b as number), xs(b as number, c as number)].map((part) => part.map(([n]) => `label ${n}`)),
      ]),
    );
    expect(tf.memory().numTensors).toBe(before);
  });

  it('gives replicas without items empty tensors', async () => {
    for await (const step of strategyOf(5).experimentalDistributeDataset(dataset())) {
      expect((step.xs as PerReplica<tf.Tensor>).values.map(({ shape }) => shape)).toEqual([
        [1, 2],
        [1, 2],
        [1, 2],
        [1, 2],
        [0, 2],
      ]);
      break;
    }
  });

  const ahead = { experimentalPerReplicaBufferSize: 2 };

  it.each([
    ['split', () => two.experimentalDistributeDataset(dataset(), ahead)],
    ['dealt out', () => two.distributeDatasetsFromFunction(() => dataset(), ahead)],
  ])('disposes the tensors of all steps that were read ahead and %s, but not used', async (_, distribute) => {
    const before = tf.memory().numTensors;
    for await (const step of distribute()) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      tf.dispose([...(step.xs as PerReplica<tf.Tensor>).values, ...(step.ys as PerReplica<tf.Tensor>).values]);
      break;
    }
    expect(tf.memory().numTensors).toBe(before);
  });

  it('gives each replica whole elements of a dataset that a function returns', async () => {
    const before = tf.memory().numTensors;
    const seen: unknown[] = [];
    for await (const step of two.distributeDatasetsFromFunction(() => dataset())) {
      seen.push((step.xs as PerReplica<tf.Tensor>).values.map(({ shape }) => shape[0]));
      tf.dispose([...(step.xs as PerReplica<tf.Tensor>).values, ...(step.ys as PerReplica<tf.Tensor>).values]);
    }
    expect(seen).toEqual([
      [4, 4],
      [3, 0],
    ]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('refuses scalars and disposes them', async () => {
    const before = tf.memory().numTensors;
    const scalars = tf.data.generator(function* () {
      yield { xs: tf.tensor1d([1]), ys: tf.scalar(2) };
    });
    const steps = two.experimentalDistributeDataset(scalars)[Symbol.asyncIterator]();
    await expect(steps.next()).rejects.toThrow(/cannot be split along the first axis/);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('does not dispose tensors that were passed in a list', async () => {
    const batch = tf.tensor2d([1, 2, 3, 4], [2, 2]);
    for (let epoch = 0; epoch < 2; epoch++) {
      for await (const { values } of two.experimentalDistributeDataset([batch])) {
        expect(values.map((part) => part.arraySync())).toEqual([[[1, 2]], [[3, 4]]]);
        tf.dispose([...values]);
      }
    }
    expect(batch.isDisposed).toBe(false);
    batch.dispose();
  });
});

describe('model.fitDataset in threads', () => {
  it('trains like a single replica on whole batches', async () => {
    const task: FitDataset = { backend: 'wasm', globalBatchSize: 24, steps: 3 };
    const [alone, ...together] = await Promise.all([1, 2].map((replicas) => train(replicas, task))).then((all) =>
      all.flat(),
    );
    expect(together).toHaveLength(2);
    expect(together[1]?.weights).toEqual(together[0]?.weights);
    expect(alone?.items).toBe(2 * 3 * 24);
    for (const { weights, items, leaked } of together) {
      expect(items).toBe(2 * 3 * 12);
      expect(leaked).toBe(0);
      for (const [index, weight] of weights.entries()) expect(weight).toBeCloseTo(alone?.weights[index] as number, 5);
    }
  });

  async function train(replicas: number, task: FitDataset) {
    const strategy = strategyOf(replicas);
    const results = await strategy.run(module, { exportName: 'fitDataset', args: [task] });
    return strategy.experimentalLocalResults(results) as Awaited<ReturnType<typeof fitDataset>>[];
  }
});
