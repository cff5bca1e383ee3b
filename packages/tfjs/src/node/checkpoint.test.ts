import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setLogSink } from '@coll/core';
import { getReplicaContext, type ReplicaContext } from '@coll/strategy';
import { nodeDisk } from '@coll/strategy/internal-node';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryFolder } from '../../../strategy/test/memory-folder.ts';
import { writeCheckpoint } from '../checkpoints/save-checkpoint.js';
import { distributedOptimizer, trainingState } from '../index.js';
import { restoreCheckpoint, saveCheckpoint } from './index.js';

const context = getReplicaContext() as ReplicaContext;
let folder: string;
let warnings: string[];

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

beforeEach(async () => {
  folder = await memoryFolder();
  warnings = [];
  setLogSink((_, message) => warnings.push(message));
});

afterEach(async () => {
  setLogSink(undefined);
  await rm(folder, { recursive: true, force: true });
});

const modelOf = (units = 2) =>
  tf.sequential({ layers: [tf.layers.dense({ inputShape: [2], units }), tf.layers.batchNormalization()] });

function stateOf({ units = 2, optimizer = tf.train.adam(0.1) as tf.Optimizer } = {}) {
  const model = modelOf(units);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  return trainingState(tf, { model });
}

const weightsOf = (model: unknown) =>
  (model as tf.LayersModel | tf.layers.Layer).getWeights().map((each) => Array.from(each.dataSync()));

/** Saves checkpoints of steps 1 to `count`. */
async function saved(count: number, keep = 9) {
  const state = stateOf();
  for (let step = 1; step <= count; step++) {
    state.step = step;
    await saveCheckpoint(folder, state, context, { keep });
  }
  return state;
}

const restoredStep = async () => (await restoreCheckpoint(folder, stateOf(), context))?.step;
const fileOf = (number: number, name: string) => path.join(folder, `checkpoint-00000${number}`, name);

describe('a checkpoint', () => {
  it('contains an ordinary model of TensorFlow.js beside the state of the optimizer', async () => {
    const state = await saved(1);
    expect((await readdir(path.join(folder, 'checkpoint-000001'))).sort()).toEqual([
      'checkpoint.json',
      'model.json',
      'optimizer.bin',
      'weights.bin',
    ]);
    const { weightsManifest, ...others } = JSON.parse(await readFile(fileOf(1, 'model.json'), 'utf8'));
    const { buffer } = new Uint8Array(await readFile(fileOf(1, 'weights.bin')));
    const artifacts = { ...others, weightSpecs: weightsManifest[0].weights, weightData: buffer };
    const model = await tf.loadLayersModel(tf.io.fromMemory(artifacts));
    expect(weightsOf(model)).toEqual(weightsOf(state.model));
  });

  it('contains no state of an optimizer if the model has none', async () => {
    await saveCheckpoint(folder, trainingState(tf, { model: modelOf() }), context);
    expect(await readdir(path.join(folder, 'checkpoint-000001'))).not.toContain('optimizer.bin');
    const model = modelOf();
    expect(await restoreCheckpoint(folder, trainingState(tf, { model }), context)).toMatchObject({ step: 0 });
  });

  it('replaces the oldest one, three are kept by default', async () => {
    const state = await saved(2);
    for (const step of [3, 4, 5]) {
      state.step = step;
      await saveCheckpoint(folder, state, context);
    }
    expect(await readdir(folder)).toEqual(['checkpoint-000003', 'checkpoint-000004', 'checkpoint-000005']);
    expect(await restoredStep()).toBe(5);
  });

  it('of a whole epoch stays until there is a newer one of a whole epoch', async () => {
    const state = await saved(1);
    const writing = { disk: nodeDisk, folder, state, context, keep: 2, operation: 'test' };
    for (const step of [2, 3, 4]) {
      state.step = step;
      await writeCheckpoint({ ...writing, notes: { withinEpoch: true } });
    }
    expect(await readdir(folder)).toEqual(['checkpoint-000001', 'checkpoint-000003', 'checkpoint-000004']);
    expect(await restoredStep()).toBe(4);
    expect(await restoreCheckpoint(folder, stateOf(), context, { wholeEpochs: true })).toMatchObject({ step: 1 });
    await writeCheckpoint(writing);
    expect(await readdir(folder)).toEqual(['checkpoint-000004', 'checkpoint-000005']);
  });

  it('restores into a folder that has none as undefined, and changes nothing', async () => {
    const state = stateOf();
    const before = weightsOf(state.model);
    expect(await restoreCheckpoint(path.join(folder, 'none'), state, context)).toBeUndefined();
    expect(weightsOf(state.model)).toEqual(before);
  });

  it('is found by its own path, too', async () => {
    await saved(3);
    const second = path.join(folder, 'checkpoint-000002');
    expect(await restoreCheckpoint(second, stateOf(), context)).toMatchObject({ step: 2 });
  });

  it.each([
    ['is shorter', 'weights.bin', (file: string) => writeFile(file, 'x'), 'has 1 bytes, but'],
    ['is longer', 'optimizer.bin', (file: string) => appendFile(file, 'x'), 'has 13 bytes, but 12 were written'],
    ['has other bytes', 'weights.bin', flip, 'does not have the checksum in checkpoint.json'],
    ['has another topology', 'model.json', flip, 'does not have the checksum in checkpoint.json'],
    ['is missing', 'model.json', (file: string) => rm(file), 'does not exist'],
    ['is missing', 'checkpoint.json', (file: string) => rm(file), 'does not exist'],
    ['is cut off', 'checkpoint.json', (file: string) => writeFile(file, '{ "format":'), 'is not JSON'],
    [
      'is something else',
      'checkpoint.json',
      (file: string) => writeFile(file, '[1]'),
      'does not describe a checkpoint',
    ],
  ])('is skipped with a warning if a file %s (%s)', async (_, name, damage, reason) => {
    await saved(2);
    await damage(fileOf(2, name));
    expect(await restoredStep()).toBe(1);
    const file = fileOf(2, name);
    expect(warnings).toEqual([expect.stringContaining(`which is not whole: ${file} ${reason}`)]);
    await rm(path.join(folder, 'checkpoint-000001'), { recursive: true });
    expect(await restoredStep()).toBeUndefined();
  });

  it.each([
    ['files', { 'model.json': { bytes: 1, sha256: '' }, 'weights.bin': 1, '../other': 1 }],
    ['epoch', -1],
    ['step', '3'],
    ['trained', [1]],
  ])('is skipped if its manifest has invalid %s', async (field, value) => {
    await saved(1);
    const file = fileOf(1, 'checkpoint.json');
    const manifest = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...manifest, [field]: value }));
    expect(await restoredStep()).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringContaining(`${file} lacks the epoch, the step, the files or what was trained`),
    ]);
  });

  it.each([
    ['has an unknown dtype', [{ name: 'iter', dtype: 'string', shape: [] }]],
    ['has a negative length', [{ name: 'iter', dtype: 'int32', shape: [-1] }]],
    ['has more elements than bytes', [{ name: 'iter', dtype: 'int32', shape: [1e9, 1e9] }]],
    ['has fewer elements than bytes', []],
  ])('is skipped if the description of the optimizer %s', async (_, weights) => {
    await saved(1);
    const file = fileOf(1, 'checkpoint.json');
    const manifest = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...manifest, optimizer: { ...manifest.optimizer, weights, fields: [] } }));
    expect(await restoredStep()).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('checkpoint-000001 is not valid: ')]);
  });

  it('of a newer release is an error and not skipped', async () => {
    await saved(1);
    const file = fileOf(1, 'checkpoint.json');
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), version: 2 }));
    await expect(restoredStep()).rejects.toMatchObject({
      code: 'ERR_COLL_CHECKPOINT',
      message: `restoreCheckpoint: ${file} has version 2, but this release of @coll/tfjs reads version 1`,
    });
  });

  it('of another model or optimizer is an error that says what differs', async () => {
    await saved(1);
    const fault = `restoreCheckpoint: ${path.join(folder, 'checkpoint-000001')} does not fit: `;
    const restore = (state: ReturnType<typeof stateOf>) => restoreCheckpoint(folder, state, context);
    await expect(restore(stateOf({ units: 3 }))).rejects.toThrow(`${fault}weight 0, `);
    await expect(restore(stateOf({ optimizer: tf.train.sgd(1) }))).rejects.toThrow(`${fault}it was saved with the`);
  });

  const twoLayers = () => {
    const layer = (name: string) => tf.layers.dense({ inputShape: [2], units: 2, name });
    return tf.sequential({ layers: [layer('first'), layer('second')] });
  };
  const freezeFirst = (model: tf.Sequential) => {
    const [first] = model.layers as [tf.layers.Layer];
    first.trainable = false;
    return model;
  };

  it('restores weights by their names if layers were frozen meanwhile, which changes their order', async () => {
    const model = twoLayers();
    await saveCheckpoint(folder, trainingState(tf, { model }), context);
    const frozen = freezeFirst(twoLayers());
    await restoreCheckpoint(folder, trainingState(tf, { model: frozen }), context);
    for (const [index, layer] of frozen.layers.entries())
      expect(weightsOf(layer)).toEqual(weightsOf(model.layers[index]));
  });

  it('of other frozen layers is an error if there is an optimizer, which counts what is trained', async () => {
    const optimizer = tf.train.sgd(1);
    await saveCheckpoint(folder, trainingState(tf, { model: twoLayers(), optimizer }), context);
    const state = trainingState(tf, { model: freezeFirst(twoLayers()), optimizer });
    await expect(restoreCheckpoint(folder, state, context)).rejects.toThrow(
      'does not fit: weight 0, "first/kernel", was trained, but is frozen in the model',
    );
  });

  it('warns once if it lacks gradients that are accumulated', async () => {
    const model = twoLayers();
    const optimizer = distributedOptimizer(tf, tf.train.sgd(1), context, { every: 3 });
    model.compile({ optimizer, loss: 'meanSquaredError' });
    const state = trainingState(tf, { model });
    for (let step = 1; step <= 6; step++) {
      await model.trainOnBatch(tf.ones([2, 2]), tf.ones([2, 2]));
      await saveCheckpoint(folder, state, context);
    }
    expect(warnings).toEqual([
      'a checkpoint lacks the gradients of 1 step(s) that distributedOptimizer has accumulated, so that a resumed training differs; save after a multiple of its option `every`',
    ]);
    setLogSink((_, message) => warnings.push(message));
    await saveCheckpoint(folder, state, context);
    expect(warnings).toHaveLength(1);
  });

  it('refuses invalid arguments before anything is written', async () => {
    const state = stateOf();
    await expect(saveCheckpoint('', state, context)).rejects.toThrow(
      'saveCheckpoint: folder must be a path, got ""; call saveCheckpoint(folder, state, context)',
    );
    await expect(saveCheckpoint(folder, {} as never, context)).rejects.toThrow('state must be what trainingState');
    await expect(saveCheckpoint(folder, state, {} as never)).rejects.toThrow('context must be the replica context');
    await expect(saveCheckpoint(folder, state, context, { keep: 0 })).rejects.toThrow(
      'keep must be a whole number from 1',
    );
    state.step = -1;
    await expect(saveCheckpoint(folder, state, context)).rejects.toThrow('step must be a whole number from 0, got -1');
    expect(await readdir(folder)).toEqual([]);
  });
});

/** Changes one bit in the middle of a file. */
async function flip(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  await writeFile(file, bytes);
}
