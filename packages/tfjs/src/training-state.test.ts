import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { trainingState } from './index.js';
import { collectState, misfitOf, restoreState } from './training-state.js';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

const smallModel = (seed: number, units = 4) =>
  tf.sequential({
    layers: [
      tf.layers.dense({ inputShape: [3], units, kernelInitializer: tf.initializers.glorotUniform({ seed }) }),
      tf.layers.batchNormalization(),
      tf.layers.dense({ units: 1, kernelInitializer: tf.initializers.glorotUniform({ seed }) }),
    ],
  });

const [x, y] = [tf.tensor2d([1, 2, 3, 4, 5, 7, -1, 0, 1, 2, 2, 8], [4, 3]), tf.tensor2d([1, 2, 0, 3], [4, 1])];

async function train(model: tf.LayersModel, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) await model.trainOnBatch(x, y);
}

const model = smallModel(1);

const bitsOf = (model: tf.LayersModel) => model.getWeights().map((weight) => Array.from(weight.dataSync()));

const optimizers = {
  sgd: () => tf.train.sgd(0.01),
  momentum: () => tf.train.momentum(0.01, 0.9),
  nesterov: () => tf.train.momentum(0.01, 0.9, true),
  adagrad: () => tf.train.adagrad(0.01),
  adadelta: () => tf.train.adadelta(0.1),
  rmsprop: () => tf.train.rmsprop(0.01, 0.9, 0.5),
  'centered rmsprop': () => tf.train.rmsprop(0.01, 0.9, 0.5, undefined, true),
  adam: () => tf.train.adam(0.01),
} as const;

function compiled(optimizer: tf.Optimizer, seed: number): tf.LayersModel {
  const model = smallModel(seed);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  return model;
}

describe('a training state', () => {
  it.each(Object.keys(optimizers) as (keyof typeof optimizers)[])(
    'continues training with %s bit by bit in another model with a new optimizer',
    async (name) => {
      const first = compiled(optimizers[name](), 1);
      await train(first, 7);
      const snapshot = await collectState(trainingState(tf, { model: first, epoch: 2, step: 7, data: { seed: 3 } }));
      const second = compiled(optimizers[name](), 2);
      await train(second, 1);
      const state = trainingState(tf, { model: second });
      expect(misfitOf(state, snapshot)).toBeUndefined();
      await restoreState(state, snapshot);
      expect(state).toMatchObject({ epoch: 2, step: 7, data: { seed: 3 } });
      expect(bitsOf(second)).toEqual(bitsOf(first));
      await train(first, 5);
      await train(second, 5);
      expect(bitsOf(second)).toEqual(bitsOf(first));
    },
  );

  it('keeps its contents while the training goes on, and leaves no tensors behind', async () => {
    const model = compiled(tf.train.adam(0.01), 1);
    await train(model, 1);
    const data = { position: [1, 2] };
    const state = trainingState(tf, { model, data });
    const before = tf.memory().numTensors;
    const snapshot = await collectState(state);
    const copy = structuredClone(snapshot);
    await train(model, 2);
    data.position.push(3);
    expect(snapshot).toEqual(copy);
    await restoreState(state, snapshot);
    await train(model, 2);
    await restoreState(state, snapshot);
    expect(tf.memory().numTensors).toBe(before);
    expect(bitsOf(model)).toEqual(snapshot.weights.map(({ values }) => Array.from(values)));
  });

  it('restores the learning rate, which a callback may have changed', async () => {
    const first = tf.train.adam(0.01);
    const snapshot = await collectState(trainingState(tf, { model: smallModel(1), optimizer: tf.train.adam(0.005) }));
    await restoreState(trainingState(tf, { model: smallModel(1), optimizer: first }), snapshot);
    expect(first.getConfig()['learningRate']).toBe(0.005);

    const [slow, fast] = [tf.train.sgd(0.01), tf.train.sgd(1)];
    await restoreState(
      trainingState(tf, { model: smallModel(1), optimizer: fast }),
      await collectState(trainingState(tf, { model: smallModel(1), optimizer: slow })),
    );
    const weight = tf.variable(tf.scalar(1));
    fast.applyGradients([{ name: weight.name, tensor: tf.scalar(1) }]);
    expect(weight.dataSync()[0]).toBeCloseTo(0.99);
  });

  it('names the optimizer that cannot save its state', async () => {
    const state = trainingState(tf, { model: smallModel(1), optimizer: tf.train.adamax(0.01) });
    await expect(collectState(state)).rejects.toThrow(
      'the state of Adamax cannot be saved, because TensorFlow.js does not implement its getWeights; use another',
    );
  });

  it('names what differs from the model or the optimizer that was saved', async () => {
    const snapshot = await collectState(trainingState(tf, { model: compiled(tf.train.adam(0.01), 1) }));
    const wide = tf.sequential({ layers: [tf.layers.dense({ inputShape: [3], units: 5 })] });
    expect(misfitOf(trainingState(tf, { model: wide }), snapshot)).toBe('it has 8 weights, but the model has 2');
    expect(misfitOf(trainingState(tf, { model: smallModel(1, 5) }), snapshot)).toMatch(
      /^weight 0, ".*kernel.*", is float32 \[3,4\], but ".*kernel" of the model is float32 \[3,5\]$/,
    );
    expect(misfitOf(trainingState(tf, { model: compiled(tf.train.sgd(0.01), 1) }), snapshot)).toMatch(
      /^it was saved with the optimizer Adam \{"beta1":0.9,.*\}, but the training state has the optimizer SGD \{\}$/,
    );
    expect(misfitOf(trainingState(tf, { model: smallModel(1) }), snapshot)).toMatch(/has no optimizer$/);
  });

  it.each([
    ['no model', {}, 'model must be a Layers model'],
    ['a model that cannot be saved', { model: { weights: [] } }, 'model must have the method save'],
    [
      'a text as optimizer',
      { model, optimizer: 'adam' },
      'optimizer must be an optimizer of TensorFlow.js, got "adam"',
    ],
    ['an unknown option', { model, epochs: 1 }, 'unknown option "epochs"; did you mean epoch?'],
    ['half a step', { model, step: 1.5 }, 'step must be a whole number from 0, got 1.5'],
    ['data with NaN', { model, data: { loss: Number.NaN } }, 'data must consist of plain objects'],
    [
      'data with arrays that JSON changes',
      { model, data: [new Float32Array(1)] },
      'data must consist of plain objects',
    ],
  ])('refuses %s', (_, options, message) => {
    expect(() => trainingState(tf, options as never)).toThrow(message);
  });
});
