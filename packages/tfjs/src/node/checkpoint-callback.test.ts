import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { getReplicaContext, type ReplicaContext } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryFolder } from '../../../strategy/test/memory-folder.ts';
import { distributedCallbacks, type TrainingState, trainingState } from '../index.js';
import { type CheckpointCallbackOptions, checkpointCallback, restoreCheckpoint } from './index.js';

const context = getReplicaContext() as ReplicaContext;
const [x, y] = [tf.tensor2d([1, 2, 3, 4, 5, 6], [6, 1]), tf.tensor2d([2, 4, 6, 8, 10, 12], [6, 1])];
let folder: string;

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

beforeEach(async () => {
  folder = await memoryFolder();
});

afterEach(() => rm(folder, { recursive: true, force: true }));

function newState(optimizer: tf.Optimizer = tf.train.sgd(0.001)) {
  const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [1], units: 1, kernelInitializer: 'zeros' })] });
  model.compile({ optimizer, loss: 'meanSquaredError' });
  return trainingState(tf, { model });
}

const modelOf = ({ model }: TrainingState) => model as tf.Sequential;
const weightOf = (state: TrainingState) => modelOf(state).getWeights()[0]?.dataSync()[0];

/** Trains with batches of two rows, which are three steps per epoch. */
async function fit(state: TrainingState, options: CheckpointCallbackOptions, fitting: tf.ModelFitArgs = {}) {
  const own = [checkpointCallback(folder, state, context, options), fitting.callbacks ?? []].flat();
  const callbacks = distributedCallbacks(tf, own as never, context);
  return await modelOf(state).fit(x, y, { epochs: 4, batchSize: 2, verbose: 0, ...fitting, callbacks });
}

/** Epoch and step of each checkpoint. */
async function saved() {
  const found = [];
  for (const name of (await readdir(folder)).sort()) {
    if (name === 'best') continue;
    const { epoch, step } = (await restoreCheckpoint(path.join(folder, name), newState(), context)) ?? {};
    found.push(`epoch ${epoch}, step ${step}`);
  }
  return found;
}

describe('the callback for checkpoints', () => {
  it('saves after each epoch, keeps three checkpoints, and nothing is saved twice at the end', async () => {
    await fit(newState(), {});
    expect(await saved()).toEqual(['epoch 2, step 6', 'epoch 3, step 9', 'epoch 4, step 12']);
  });

  it('saves every few epochs and the end', async () => {
    await fit(newState(), { every: { epochs: 2 } }, { epochs: 5 });
    expect(await saved()).toEqual(['epoch 2, step 6', 'epoch 4, step 12', 'epoch 5, step 15']);
  });

  it('saves every few steps, and a whole epoch at the end', async () => {
    await fit(newState(), { every: { steps: 2 }, keep: 9 }, { epochs: 2 });
    expect(await saved()).toEqual(['epoch 0, step 2', 'epoch 1, step 4', 'epoch 1, step 6', 'epoch 2, step 6']);
    expect(await restoreCheckpoint(folder, newState(), context, { wholeEpochs: true })).toMatchObject({ epoch: 2 });
  });

  it('saves after some seconds', async () => {
    await fit(newState(), { every: { seconds: 1e-9 }, keep: 9 }, { epochs: 1 });
    expect(await saved()).toEqual([1, 2, 3, 3].map((step, index) => `epoch ${index === 3 ? 1 : 0}, step ${step}`));
  });

  it('saves the step in which a stop ends the training within an epoch', async () => {
    const state = newState();
    const stop = async () => {
      modelOf(state).stopTraining = state.step === 4;
    };
    await fit(state, {}, { callbacks: { onBatchEnd: stop } });
    expect(await saved()).toEqual(['epoch 1, step 3', 'epoch 1, step 4']);
    expect(await restoreCheckpoint(folder, newState(), context, { wholeEpochs: true })).toMatchObject({ step: 3 });
  });

  it('counts an epoch whose last step a stop ends as whole', async () => {
    const state = newState();
    const stop = async () => {
      modelOf(state).stopTraining = state.step === 6;
    };
    await fit(state, {}, { callbacks: { onBatchEnd: stop } });
    expect(await saved()).toEqual(['epoch 1, step 3', 'epoch 2, step 6']);
  });

  it('counts on from a checkpoint that was restored', async () => {
    await fit(newState(), {}, { epochs: 2 });
    const state = newState();
    const { epoch = 0 } = (await restoreCheckpoint(folder, state, context)) ?? {};
    await fit(state, {}, { epochs: 3, initialEpoch: epoch });
    expect(await saved()).toEqual(['epoch 1, step 3', 'epoch 2, step 6', 'epoch 3, step 9']);
  });

  /** Trains by hand: in each epoch, the weight is the number of the epoch, with this metric. */
  async function epochs(
    state: TrainingState,
    metrics: readonly number[],
    options: CheckpointCallbackOptions,
    from = 0,
  ) {
    const callbacks = distributedCallbacks(tf, checkpointCallback(folder, state, context, options), context);
    await callbacks.onTrainBegin();
    for (const [index, metric] of metrics.entries()) {
      const epoch = from + index;
      await callbacks.onEpochBegin(epoch);
      await callbacks.onBatchBegin(0, { size: 1 });
      modelOf(state).setWeights([tf.tensor2d([epoch], [1, 1]), tf.zeros([1])]);
      await callbacks.onBatchEnd(0, {});
      await callbacks.onEpochEnd(epoch, { [options.best ?? '']: metric });
    }
    await callbacks.onTrainEnd();
  }

  it('keeps the best checkpoint and ends with its weights', async () => {
    const state = newState();
    await epochs(state, [5, 3, Number.NaN, 4, 3], { best: 'val_loss', every: { epochs: 3 } });
    expect(weightOf(state)).toBe(1);
    expect(await readdir(path.join(folder, 'best'))).toHaveLength(1);
    const best = newState();
    expect(await restoreCheckpoint(path.join(folder, 'best'), best, context)).toMatchObject({ epoch: 2 });
    expect(weightOf(best)).toBe(1);
    // The newest checkpoint continues the training, not the best one.
    await restoreCheckpoint(folder, best, context);
    expect(weightOf(best)).toBe(4);
  });

  it.each([
    ['val_acc', undefined, 1],
    ['val_loss', undefined, 0],
    ['score', 'max', 1],
  ] as const)('takes the best %s, mode %s', async (best, mode, expected) => {
    const state = newState();
    await epochs(state, [1, 2], { best, mode });
    expect(weightOf(state)).toBe(expected);
  });

  it('compares with the best of the training that it continues, and ignores that of another training', async () => {
    await epochs(newState(), [1, 2], { best: 'loss' });
    const resumed = newState();
    await restoreCheckpoint(folder, resumed, context);
    await epochs(resumed, [1.5], { best: 'loss' }, 2);
    expect(weightOf(resumed)).toBe(0);
    const other = newState();
    await epochs(other, [7, 8], { best: 'loss' }, 5);
    expect(weightOf(other)).toBe(5);
    const broken = newState();
    await epochs(broken, [Number.NaN], { best: 'loss' }, 9);
    expect(weightOf(broken)).toBe(9);
  });

  it('names the metrics if there is none of that name', async () => {
    await expect(fit(newState(), { best: 'val_loss' })).rejects.toThrow(
      'checkpointCallback: there is no metric "val_loss" at the end of an epoch, only loss',
    );
  });

  it('throws before the first step if the optimizer cannot save its state', async () => {
    const state = newState(tf.train.adamax(0.1));
    await expect(fit(state, {})).rejects.toThrow('checkpointCallback: the state of Adamax cannot be saved');
    expect(state.step).toBe(0);
  });

  it.each([
    [{ best: '' }, 'best must be the name of a metric, got ""'],
    [{ mode: 'auto' }, `mode must be 'min' or 'max', got "auto"`],
    [{ every: {} }, 'every must have epochs, steps or seconds'],
    [{ every: { steps: 0 } }, 'every.steps must be a whole number from 1, got 0'],
    [{ every: { seconds: -1 } }, 'every.seconds must be a positive number, got -1'],
    [{ every: { epoch: 1 } }, 'checkpointCallback: every: unknown option "epoch"; did you mean epochs?'],
    [{ keep: 1.5 }, 'keep must be a whole number from 1, got 1.5'],
  ])('refuses %o', (options, message) => {
    expect(() => checkpointCallback(folder, newState(), context, options as never)).toThrow(message);
  });
});
