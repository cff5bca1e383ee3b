import type { ReplicaContext } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { unisonContext } from '../test/unison-context.ts';
import { clipByGlobalNorm } from './clipped-gradients.js';
import { type DistributedOptimizerOptions, distributedOptimizer } from './distributed-optimizer.js';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

const contextOf = (numReplicasInSync: number): ReplicaContext => ({ ...unisonContext().context, numReplicasInSync });

const xs = tf.tensor2d(Array.from({ length: 24 }, (_, at) => [Math.sin(at), Math.cos(3 * at)]));
const ys = tf.tensor1d(Array.from({ length: 24 }, (_, at) => at % 3));

/** A weight and an offset, and the mean loss of some rows. */
function task() {
  const variables = [tf.variable(tf.tensor2d([[0.5], [-1]])), tf.variable(tf.scalar(2))] as const;
  const loss = (begin: number, size: number) => () =>
    tf.losses.meanSquaredError(
      ys.slice(begin, size),
      xs.slice(begin, size).matMul(variables[0]).add(variables[1]).flatten(),
    ) as tf.Scalar;
  const values = () => variables.flatMap((variable) => Array.from(variable.dataSync()));
  return { variables: [...variables], loss, values };
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  for (const [index, value] of actual.entries()) expect(value).toBeCloseTo(expected[index] as number, 5);
}

const optimizers: Readonly<Record<string, () => tf.Optimizer>> = {
  sgd: () => tf.train.sgd(0.1),
  momentum: () => tf.train.momentum(0.1, 0.9),
  adam: () => tf.train.adam(0.1),
  rmsprop: () => tf.train.rmsprop(0.1),
};

it('clipping hides no NaN or infinity', () => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const output = Float32Array.of(3, bad);
    clipByGlobalNorm([{ input: output, output }, undefined], 1);
    expect(output).toEqual(Float32Array.of(3, bad));
  }
});

describe.each([1, 2])('the options of the optimizer of %i in unison', (replicas) => {
  /** The values of the variables after each step on these parts of the data. */
  const trained = (
    parts: readonly (readonly [begin: number, size: number])[],
    name: string,
    options: DistributedOptimizerOptions,
  ) => {
    const { variables, loss, values } = task();
    let samples = 0;
    const optimizer = distributedOptimizer(tf, (optimizers[name] as () => tf.Optimizer)(), contextOf(replicas), {
      samples: () => samples,
      ...options,
    });
    return parts.map(([begin, size]) => {
      samples = size;
      optimizer.minimize(loss(begin, size), false, variables);
      return values();
    });
  };

  it.each(Object.keys(optimizers))('every accumulates unequal parts to the step of the whole batch: %s', (name) => {
    const parts = [...[0, 8].flatMap((at) => [[at, 5] as const, [at + 5, 0] as const, [at + 5, 3] as const])];
    const found = trained(parts, name, { every: 3 });
    const start = task().values();
    expect(found.slice(0, 2)).toEqual([start, start]);
    expect(found[4]).toEqual(found[2]);
    const { variables, loss, values } = task();
    const plain = (optimizers[name] as () => tf.Optimizer)();
    for (const [index, begin] of [0, 8].entries()) {
      plain.minimize(loss(begin, 8), false, variables);
      expectClose(found[3 * index + 2] as number[], values());
    }
  });

  it('every accumulates without a list of variables and numbers of samples, with one all-reduce per window', () => {
    const { context, calls } = unisonContext();
    const variable = tf.variable(tf.scalar(1));
    const optimizer = distributedOptimizer(
      tf,
      tf.train.sgd(1),
      { ...context, numReplicasInSync: replicas },
      { every: 2 },
    );
    const step = (factor: number) => optimizer.minimize(() => variable.mul(factor) as tf.Scalar);
    for (const factor of [0.1, 0.2]) step(factor);
    expect(variable.dataSync()[0]).toBeCloseTo(1 - 0.15);
    const before = [calls.length, tf.memory().numTensors];
    for (const factor of [0.1, 0.2, 0.3, 0.4]) step(factor);
    expect([calls.length - 2, tf.memory().numTensors]).toEqual(before);
    expect(variable.dataSync()[0]).toBeCloseTo(1 - 0.15 - 0.15 - 0.35);
  });

  it('every refuses a variable whose first gradient comes after the first step', () => {
    const [one, other] = [tf.variable(tf.scalar(1)), tf.variable(tf.scalar(1))];
    const optimizer = distributedOptimizer(tf, tf.train.sgd(1), contextOf(replicas), { every: 2 });
    optimizer.minimize(() => one.square() as tf.Scalar);
    expect(() => optimizer.minimize(() => one.mul(other) as tf.Scalar)).toThrow(
      /with every: 2, all variables must have a gradient in the first step .* be passed to minimize as a list/,
    );
  });

  it('clipByGlobalNorm limits the norm of all gradients together', () => {
    const norm = (values: readonly number[]) => Math.hypot(...values);
    const change = (options: DistributedOptimizerOptions) => {
      const start = task().values();
      return (
        trained([[0, 8]], 'sgd', options)[0]?.map((value, index) => (value - (start[index] as number)) / 0.1) ?? []
      );
    };
    const [free, wide, clipped] = [{}, { clipByGlobalNorm: 100 }, { clipByGlobalNorm: 0.5 }].map(change) as [
      ...[number[], number[], number[]],
    ];
    expect(norm(free)).toBeGreaterThan(1);
    expectClose(wide, free);
    expectClose(
      clipped,
      free.map((value) => (value * 0.5) / norm(free)),
    );
  });

  it.each(Object.keys(optimizers))('warmUpSteps lets the learning rate grow linearly: %s', (name) => {
    const parts = Array.from({ length: 5 }, (_, at) => [4 * at, 4] as const);
    const found = trained(parts, name, { warmUpSteps: 3 });
    const { variables, loss, values } = task();
    const plain = (optimizers[name] as () => tf.Optimizer)() as tf.SGDOptimizer;
    for (const [index, [begin, size]] of parts.entries()) {
      const learningRate = 0.1 * Math.min(1, (index + 1) / 3);
      if (plain.setLearningRate) plain.setLearningRate(learningRate);
      else Object.assign(plain, { learningRate });
      plain.minimize(loss(begin, size), false, variables);
      expectClose(found[index] as number[], values());
    }
  });

  it('warmUpSteps goes on after the optimizer was restored, and leaves its setting as it is', async () => {
    const variable = tf.variable(tf.scalar(0));
    const plain = tf.train.sgd(1);
    const optimizer = distributedOptimizer(tf, plain, contextOf(replicas), { warmUpSteps: 4 });
    await optimizer.setWeights([{ name: 'iter', tensor: tf.scalar(1, 'int32') }]);
    optimizer.minimize(() => variable.mul(-1) as tf.Scalar, false, [variable]);
    expect(variable.dataSync()[0]).toBeCloseTo(2 / 4);
    expect(optimizer.getConfig()).toEqual({ learningRate: 1 });
    plain.setLearningRate(2);
    optimizer.minimize(() => variable.mul(-1) as tf.Scalar, false, [variable]);
    expect(variable.dataSync()[0]).toBeCloseTo(2 / 4 + (2 * 3) / 4);
  });

  it('scaleLearningRate multiplies the learning rate by the number of replicas', () => {
    const variable = tf.variable(tf.scalar(0));
    const optimizer = distributedOptimizer(tf, tf.train.sgd(1), contextOf(replicas), { scaleLearningRate: true });
    optimizer.minimize(() => variable.mul(-1) as tf.Scalar, false, [variable]);
    expect(variable.dataSync()[0]).toBeCloseTo(replicas);
  });

  it.each<[object, string]>([
    [{ every: 0 }, 'every must be a whole number from 1, got 0'],
    [{ every: 1.5 }, 'every must be a whole number from 1, got 1.5'],
    [{ clipByGlobalNorm: 0 }, 'clipByGlobalNorm must be a positive number, got 0'],
    [{ warmUpSteps: -1 }, 'warmUpSteps must be a whole number from 0, got -1'],
    [{ scaleLearningRate: 2 }, 'scaleLearningRate must be true or false, got 2'],
  ])('%o is refused', (options, message) => {
    expect(() => distributedOptimizer(tf, tf.train.sgd(1), contextOf(replicas), options)).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_VALUE', message: `distributedOptimizer: ${message}` }),
    );
  });

  it('an optimizer without a learning rate cannot warm up', () => {
    const own = { computeGradients: () => ({}), applyGradients: () => {} };
    expect(() => distributedOptimizer(tf, own, contextOf(replicas), { warmUpSteps: 1 })).toThrow(
      'warmUpSteps and scaleLearningRate need an optimizer with a number learningRate',
    );
  });
});
