import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setLogSink } from '@coll/core';
import { getReplicaContext, type ReplicaContext } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryFolder } from '../../../strategy/test/memory-folder.ts';
import { trainingState } from '../index.js';
import { checkpointHandler, registerFileHandler, saveCheckpoint } from './index.js';

const context = getReplicaContext() as ReplicaContext;
let folder: string;

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

beforeEach(async () => {
  folder = await memoryFolder();
  setLogSink(() => {});
});

afterEach(async () => {
  setLogSink(undefined);
  await rm(folder, { recursive: true, force: true });
});

const newModel = () =>
  tf.sequential({ layers: [tf.layers.dense({ inputShape: [2], units: 3 }), tf.layers.batchNormalization()] });
const bitsOf = (model: tf.LayersModel) => model.getWeights().map((weight) => Array.from(weight.dataSync()));
const load = (name = '') => tf.loadLayersModel(checkpointHandler(path.join(folder, name)));

/** Saves models as checkpoints, and returns them. */
async function checkpoints(count: number) {
  const models = Array.from({ length: count }, newModel);
  for (const model of models) await saveCheckpoint(folder, trainingState(tf, { model }), context);
  return models as [tf.Sequential, ...tf.Sequential[]];
}

describe('the handler for checkpoints', () => {
  it('loads what it has saved, in a folder that it creates, also if that replaces a model', async () => {
    const [first, second] = [newModel(), newModel()];
    await first.save(checkpointHandler(path.join(folder, 'models/line')));
    expect(bitsOf(await load('models/line'))).toEqual(bitsOf(first));
    const saved = await second.save(checkpointHandler(path.join(folder, 'models/line')));
    expect(bitsOf(await load('models/line'))).toEqual(bitsOf(second));
    expect(saved.modelArtifactsInfo.modelTopologyType).toBe('JSON');
    expect((await readdir(path.join(folder, 'models/line'))).sort()).toEqual(['model.json', 'weights.bin']);
  });

  it('loads the newest whole checkpoint, or a given one', async () => {
    const [first, second] = await checkpoints(2);
    expect(bitsOf(await load())).toEqual(bitsOf(second as tf.Sequential));
    expect(bitsOf(await load('checkpoint-000001'))).toEqual(bitsOf(first));
    await writeFile(path.join(folder, 'checkpoint-000002/weights.bin'), '');
    expect(bitsOf(await load())).toEqual(bitsOf(first));
    await expect(load('checkpoint-000002')).rejects.toThrow('weights.bin has 0 bytes, but');
  });

  it('loads a model whose weights are in several files', async () => {
    const model = newModel();
    await model.save(checkpointHandler(folder));
    const json = JSON.parse(await readFile(path.join(folder, 'model.json'), 'utf8'));
    const weights = await readFile(path.join(folder, 'weights.bin'));
    json.weightsManifest[0].paths = ['a.bin', 'b.bin'];
    await writeFile(path.join(folder, 'a.bin'), weights.subarray(0, 10));
    await writeFile(path.join(folder, 'b.bin'), weights.subarray(10));
    await writeFile(path.join(folder, 'model.json'), JSON.stringify(json));
    expect(bitsOf(await load())).toEqual(bitsOf(model));
  });

  it('does not change a checkpoint', async () => {
    await checkpoints(1);
    const own = path.join(folder, 'checkpoint-000001');
    await expect(newModel().save(checkpointHandler(own))).rejects.toMatchObject({
      code: 'ERR_COLL_CHECKPOINT',
      message: `checkpointHandler: cannot save the model to ${own}: it is a checkpoint, which must not change; pass another folder`,
    });
    expect((await readdir(own)).sort()).toEqual(['checkpoint.json', 'model.json', 'weights.bin']);
  });

  it.each([
    ['has no model', undefined, 'it contains neither model.json nor a whole checkpoint'],
    ['has something else', '[]', 'model.json does not list its weights'],
    ['has a model that is cut off', '{', 'JSON'],
    [
      'has a model that names files elsewhere',
      '{"weightsManifest":[{"paths":["../a"],"weights":[]}]}',
      'its weights are in "../a", which is in another folder',
    ],
    ['lacks weights', '{"weightsManifest":[{"paths":["a.bin"],"weights":[]}]}', 'ENOENT'],
  ])('names the folder if it %s', async (_, json, reason) => {
    if (json !== undefined) await writeFile(path.join(folder, 'model.json'), json);
    const loading = load();
    await expect(loading).rejects.toThrow(`checkpointHandler: cannot load the model in ${folder}: `);
    await expect(loading).rejects.toThrow(reason);
  });

  it('is registered for addresses of files on request, and only once', async () => {
    await expect(tf.loadLayersModel(`file://${folder}/line/model.json`)).rejects.toThrow();
    registerFileHandler(tf);
    const model = newModel();
    await model.save(`file://${folder}/line`);
    expect(bitsOf(await tf.loadLayersModel(`file://${folder}/line/model.json`))).toEqual(bitsOf(model));
    expect(tf.io.getLoadHandlers('http://localhost/model.json')).toHaveLength(1);
    expect(() => registerFileHandler(tf)).toThrow(
      'registerFileHandler: TensorFlow.js has a handler for file:// already, which loads and saves the same files',
    );
    expect(tf.io.getLoadHandlers(`file://${folder}/line/model.json`)).toHaveLength(1);
    expect(() => registerFileHandler({} as never)).toThrow('tf must be TensorFlow.js');
  });

  it('has written files that plain TensorFlow.js loads over HTTP', async () => {
    const [model] = await checkpoints(1);
    const server = createServer(({ url = '' }, response) => {
      response.setHeader('content-type', url.endsWith('.json') ? 'application/json' : 'application/octet-stream');
      createReadStream(path.join(folder, url)).pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const loaded = await tf.loadLayersModel(`http://127.0.0.1:${port}/checkpoint-000001/model.json`);
    server.close();
    expect(bitsOf(loaded)).toEqual(bitsOf(model));
  });

  it('loads a checkpoint that was moved, and checks its files', async () => {
    const [model] = await checkpoints(1);
    await mkdir(path.join(folder, 'moved'));
    await rename(path.join(folder, 'checkpoint-000001'), path.join(folder, 'moved/line'));
    expect(bitsOf(await load('moved/line'))).toEqual(bitsOf(model));
    await writeFile(path.join(folder, 'moved/line/model.json'), '{}');
    await expect(load('moved/line')).rejects.toThrow('model.json has 2 bytes, but');
  });
});
