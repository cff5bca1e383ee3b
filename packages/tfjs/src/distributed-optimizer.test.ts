import { setLogSink } from '@coll/core';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { unisonContext } from '../test/unison-context.ts';
import { distributedOptimizer } from './distributed-optimizer.js';
import { presentStepOf } from './present-step.js';
import { reduceGradients } from './reduce-gradients.js';
import { guardWidth } from './step-guard.js';

/** The weight of the samples, newcomers, and the numbers of the guard. */
const numbersPerStep = 2 + guardWidth;

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

afterEach(() => setLogSink());

describe('a distributed optimizer', () => {
  it('is the plain optimizer itself for a single replica', () => {
    const optimizer = tf.train.sgd(0.1);
    const context = { ...unisonContext().context, numReplicasInSync: 1 };
    expect(distributedOptimizer(tf, optimizer, context)).toBe(optimizer);
  });

  it.each([
    ['adam', 'got "adam"; pass tf.train.adam(0.01)'],
    [undefined, 'got undefined; pass for example tf.train.adam(0.01)'],
    [{}, 'pass for example tf.train.adam(0.01)'],
  ])('refuses %o with a ValueError that says how to create an optimizer', (given, message) => {
    for (const numReplicasInSync of [1, 2]) {
      const context = { ...unisonContext().context, numReplicasInSync };
      const make = () => distributedOptimizer(tf, given as never, context);
      expect(make).toThrow(
        expect.objectContaining({
          name: 'ValueError',
          code: 'ERR_COLL_VALUE',
          message: expect.stringContaining(message),
        }),
      );
    }
  });

  it('gives access to the name, settings, iterations and weights of the plain optimizer', async () => {
    const adam = tf.train.adam(0.01);
    const distributed = distributedOptimizer(tf, adam, unisonContext().context);
    const variable = tf.variable(tf.tensor1d([1, 2]));
    distributed.minimize(() => tf.sum(variable.square()), false, [variable]);
    expect(distributed instanceof tf.Optimizer).toBe(true);
    expect(distributed.getClassName()).toBe('Adam');
    expect(distributed.getConfig()).toEqual(adam.getConfig());
    expect(distributed.iterations).toBe(1);
    (distributed as unknown as { learningRate: number }).learningRate = 0.5;
    expect(adam.getConfig()).toMatchObject({ learningRate: 0.5 });
    expect((await distributed.getWeights()).map(({ name }) => name)).toEqual([
      'iter',
      `${variable.name}/m`,
      `${variable.name}/v`,
    ]);
    const before = tf.memory().numTensors;
    distributed.dispose();
    expect(tf.memory().numTensors).toBeLessThan(before);
  });

  it('is saved with a model like the plain optimizer, and restored', async () => {
    const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [2], units: 1 })] });
    model.compile({
      optimizer: distributedOptimizer(tf, tf.train.adam(0.01), unisonContext().context),
      loss: 'meanSquaredError',
    });
    await model.fit(tf.ones([4, 2]), tf.ones([4, 1]), { epochs: 1, verbose: 0 });
    let saved: tf.io.ModelArtifacts | undefined;
    const keep = tf.io.withSaveHandler(async (artifacts) => {
      saved = artifacts;
      return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } };
    });
    await model.save(keep, { includeOptimizer: true });
    expect(saved?.trainingConfig?.['optimizer_config']).toMatchObject({ class_name: 'Adam' });
    const loaded = await tf.loadLayersModel(tf.io.fromMemory(saved as tf.io.ModelArtifacts));
    expect(loaded.optimizer.iterations).toBe(1);
  });

  it('warns once if the model is compiled again without it', async () => {
    const lines: string[] = [];
    setLogSink((level, message) => lines.push(`${level}: ${message}`));
    const compile = (model: tf.LayersModel, optimizer: tf.Optimizer | string) =>
      model.compile({ optimizer, loss: 'meanSquaredError' });
    const fit = (model: tf.LayersModel) =>
      model.fit(tf.ones([4, 2]), tf.ones([4, 1]), { batchSize: 2, epochs: 2, verbose: 0 });
    const [model, other] = [1, 2].map(() =>
      tf.sequential({ layers: [tf.layers.dense({ inputShape: [2], units: 1 })] }),
    ) as [tf.Sequential, tf.Sequential];

    const distributed = () => distributedOptimizer(tf, tf.train.adam(0.01), unisonContext().context);
    for (const optimizer of [distributed(), distributed()]) {
      compile(model, optimizer);
      await fit(model);
    }
    compile(other, 'sgd');
    await fit(other);
    expect(lines).toEqual([]);

    compile(model, 'adam');
    await fit(model);
    await fit(model);
    expect(lines).toEqual([
      expect.stringMatching(/^warn: replica 0: .* diverge .*; compile the model with distributedOptimizer\(/),
    ]);
  });

  it('works for optimizers with private fields', () => {
    class Counting extends tf.SGDOptimizer {
      #steps = 0;
      override applyGradients(gradients: tf.NamedTensorMap): void {
        this.#steps += 1;
        super.applyGradients(gradients);
      }
      steps(): number {
        return this.#steps;
      }
    }
    const distributed = distributedOptimizer(tf, new Counting(0.1), unisonContext().context);
    const variable = tf.variable(tf.scalar(1));
    distributed.minimize(() => variable.square() as tf.Scalar, false, [variable]);
    expect(distributed.steps()).toBe(1);
  });

  it('makes one all-reduce per step after the first step, and measures its time', () => {
    const { context, calls } = unisonContext();
    const times: number[] = [];
    const distributed = distributedOptimizer(tf, tf.train.sgd(0.1), context, {
      onAllReduce: (milliseconds) => times.push(milliseconds),
    });
    const variables = [tf.variable(tf.scalar(1)), tf.variable(tf.tensor1d([1, 2]))];
    const step = () =>
      distributed.minimize(
        () => tf.add(variables[0] as tf.Tensor, variables[1] as tf.Tensor).sum() as tf.Scalar,
        false,
        variables,
      );
    step();
    const first = calls.length;
    step();
    expect(calls.length - first).toBe(1);
    expect(calls.at(-1)?.map(({ length }) => length)).toEqual([1, 2, 2 + numbersPerStep]);
    expect(times.length).toBe(2);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(0);
  });

  it('weights the gradients of an own loop by the size that the callbacks of the step were given', () => {
    const { context, calls } = unisonContext();
    const distributed = distributedOptimizer(tf, tf.train.sgd(0.1), context);
    const variable = tf.variable(tf.scalar(1));
    const weights = [8, 2, 0, undefined].map((size) => {
      presentStepOf(context).logs = size === undefined ? undefined : { size };
      distributed.minimize(() => variable.square() as tf.Scalar, false, [variable]);
      return calls.at(-1)?.at(-1)?.[1];
    });
    // The first step makes further calls.
    expect(weights.slice(1)).toEqual([0.25, 0, 1]);
  });

  it('does not change a variable in a step without gradients for it on any replica', () => {
    const distributed = distributedOptimizer(tf, tf.train.momentum(0.1, 0.9), unisonContext().context);
    const [a, b] = [tf.variable(tf.scalar(1)), tf.variable(tf.scalar(1))];
    const step = (loss: () => tf.Tensor) => distributed.minimize(loss as () => tf.Scalar, false, [a, b]);
    step(() => a.mul(b));
    const before = b.dataSync()[0];
    step(() => a.square());
    expect(b.dataSync()[0]).toBe(before);
  });

  it('keeps the optimizer state of each variable if later steps have gradients for other variables', async () => {
    tf.disposeVariables();
    const adam = tf.train.adam(0.01);
    const distributed = distributedOptimizer(tf, adam, unisonContext().context);
    const [a, b] = [tf.variable(tf.scalar(1), true, 'a'), tf.variable(tf.scalar(1), true, 'b')];
    distributed.minimize(() => b.square() as tf.Scalar);
    distributed.minimize(() => a.mul(b) as tf.Scalar);
    expect((await adam.getWeights()).map(({ name }) => name)).toEqual(['iter', 'b/m', 'a/m', 'b/v', 'a/v']);
  });

  it('compares and broadcasts a list of variables only once', () => {
    const { context, calls } = unisonContext();
    const distributed = distributedOptimizer(tf, tf.train.sgd(0.1), context);
    const [a, b] = [tf.variable(tf.scalar(1)), tf.variable(tf.scalar(2))];
    for (const variable of [a, b, a, b]) distributed.minimize(() => variable.square() as tf.Scalar, false, [variable]);
    // The first step with each of the two lists takes three calls: the comparison, an empty
    // exchange and its completion. Later steps take one call each.
    expect(calls.length).toBe(2 * 3 + 2);
  });

  it('refuses a gradient for an unknown variable name', () => {
    const distributed = distributedOptimizer(tf, tf.train.sgd(0.1), unisonContext().context);
    expect(() => distributed.applyGradients([{ name: 'nowhere', tensor: tf.scalar(1) }])).toThrow(
      'the gradients contain "nowhere", but tf has no variable of that name',
    );
  });

  it('refuses variables of unsupported dtypes', () => {
    const distributed = distributedOptimizer(tf, tf.train.sgd(0.1), unisonContext().context);
    const variable = tf.variable(tf.tensor1d(['text']), false);
    expect(() => distributed.computeGradients(() => tf.scalar(1), [variable])).toThrow(
      /must be float32, int32 or bool, got string/,
    );
  });
});

describe('reduceGradients', () => {
  it('returns the means under the names of the gradients, and disposes the gradients', async () => {
    const variable = tf.variable(tf.tensor1d([1, 2]));
    const { context } = unisonContext();
    const before = tf.memory().numTensors;
    const { value, grads } = tf.variableGrads(() => variable.square().sum() as tf.Scalar, [variable]);
    const means = await reduceGradients(tf, grads, context, { variables: [variable] });
    expect(Object.keys(means)).toEqual([variable.name]);
    expect(grads[variable.name]?.isDisposed).toBe(true);
    tf.dispose([value, means]);
    expect(tf.memory().numTensors).toBe(before);
  });
});
