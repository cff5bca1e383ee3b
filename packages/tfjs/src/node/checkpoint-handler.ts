import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { RuntimeError, ValueError } from '@coll/core';
import { messageOf, quote } from '@coll/core/internal';
import { joined, manifestName, requireFolder } from '@coll/strategy/internal';
import { flushFolder, nodeDisk, writeFlushed } from '@coll/strategy/internal-node';
import { readCheckpoint } from '../checkpoints/checkpoint-format.js';
import { filesOfArtifacts, groupsIn, modelFiles, parsed } from '../checkpoints/model-files.js';
import { newestCheckpoint } from '../checkpoints/restore-checkpoint.js';
import type { TfIOHandler, TfModelArtifacts, TfSaveResult } from '../tensorflow.js';

const topologyName = modelFiles[0];

/**
 * Makes an `IOHandler` of TensorFlow.js for the model in a folder, so that plain TensorFlow.js in
 * Node.js loads and saves models in files. It loads the model of a checkpoint, of the newest whole
 * checkpoint in a folder of checkpoints, or any other model with a `model.json`. It saves
 * `model.json` and `weights.bin`. Neither needs a replica; with several replicas, save on one.
 * @throws ValueError unless `folder` is a path. Loading and saving reject with a RuntimeError if the
 * folder contains no model, or a damaged one, or is a checkpoint that would be overwritten
 *
 * @example
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { checkpointHandler } from '@coll/tfjs/node';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const folder = join(await mkdtemp(join(tmpdir(), 'models-')), 'line');
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * await model.save(checkpointHandler(folder));
 * const loaded = await tf.loadLayersModel(checkpointHandler(folder));
 * console.log(loaded.getWeights().map(({ shape }) => shape)); // [ [ 2, 1 ], [ 1 ] ]
 * ```
 */
export function checkpointHandler(folder: string): TfIOHandler {
  requireFolder(folder, 'checkpointHandler(folder)');
  return { load: () => loadModel(folder), save: (artifacts) => saveModel(folder, artifacts) };
}

async function loadModel(folder: string): Promise<TfModelArtifacts> {
  try {
    const place = await folderOfModel(folder);
    return await artifactsFrom(place, await readFile(path.join(place, topologyName)));
  } catch (error) {
    throw failed(`cannot load the model in ${folder}: ${messageOf(error)}`, error);
  }
}

/** The folder that contains the model, whose files are whole if they belong to a checkpoint. */
async function folderOfModel(folder: string): Promise<string> {
  if (await exists(path.join(folder, manifestName))) await readCheckpoint(nodeDisk, folder);
  if (await exists(path.join(folder, topologyName))) return folder;
  const newest = await newestCheckpoint(nodeDisk, folder);
  if (newest) return newest.folder;
  throw new Error(`it contains neither ${topologyName} nor a whole checkpoint`);
}

/** Reads a model in a folder, whose weights may be in any number of files. */
async function artifactsFrom(folder: string, topology: Uint8Array): Promise<TfModelArtifacts> {
  const json = parsed(topology);
  const groups = groupsIn(json);
  const { weightsManifest: _, ...others } = json;
  const files: Uint8Array[] = [];
  for (const file of groups.flatMap(({ paths }) => paths)) {
    // A model cannot make the program read other files.
    if (path.basename(file) !== file) throw new Error(`its weights are in ${quote(file)}, which is in another folder`);
    files.push(await readFile(path.join(folder, file)));
  }
  const { buffer } = joined(files);
  return { ...others, weightSpecs: groups.flatMap(({ weights }) => weights), weightData: buffer };
}

async function saveModel(folder: string, artifacts: TfModelArtifacts): Promise<TfSaveResult> {
  try {
    if (await exists(path.join(folder, manifestName)))
      throw new Error('it is a checkpoint, which must not change; pass another folder');
    await mkdir(folder, { recursive: true });
    const suffix = randomBytes(4).toString('hex');
    const files = filesOfArtifacts(artifacts);
    const temporary = (name: string) => path.join(folder, `.${name}-${suffix}`);
    for (const [name, bytes] of files) await writeFlushed(temporary(name), bytes);
    // The topology comes last, so that it never lacks its weights.
    for (const name of files.keys()) await rename(temporary(name), path.join(folder, name));
    await flushFolder(folder);
  } catch (error) {
    throw failed(`cannot save the model to ${folder}: ${messageOf(error)}`, error);
  }
  return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } };
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw error;
  }
}

function failed(message: string, cause: unknown): RuntimeError {
  return new RuntimeError('ERR_COLL_CHECKPOINT', `checkpointHandler: ${message}`, { cause });
}

type Router = (url: string | string[]) => TfIOHandler;

/** The part of `tf` in which handlers are registered. */
export interface TfHandlerRegistry {
  /** The functions for saving and loading of TensorFlow.js. */
  readonly io: {
    getSaveHandlers(url: string): readonly unknown[];
    getLoadHandlers(url: string): readonly unknown[];
    registerSaveRouter(router: Router): void;
    registerLoadRouter(router: Router): void;
  };
}

/**
 * Lets `tf.loadLayersModel('file://models/line/model.json')` and `model.save('file://models/line')`
 * of plain TensorFlow.js load and save files, by `checkpointHandler`. Registers nothing if there is a
 * handler for such addresses already, such as that of `@tensorflow/tfjs-node`, because TensorFlow.js
 * refuses to load with two.
 * @throws ValueError unless `tf` is TensorFlow.js; RuntimeError if there is a handler already
 *
 * @example
 * ```ts
 * import { registerFileHandler } from '@coll/tfjs/node';
 * import * as tf from '@tensorflow/tfjs';
 *
 * registerFileHandler(tf);
 * console.log(tf.io.getLoadHandlers('file://models/line/model.json').length); // 1
 * ```
 */
export function registerFileHandler(tf: TfHandlerRegistry): void {
  const { io } = Object(tf) as Partial<TfHandlerRegistry>;
  if (typeof io?.getLoadHandlers !== 'function' || typeof io.registerLoadRouter !== 'function')
    throw new ValueError('ERR_COLL_VALUE', `registerFileHandler: tf must be TensorFlow.js, got ${quote(tf)}`);
  if (io.getLoadHandlers(scheme).length > 0 || io.getSaveHandlers(scheme).length > 0) {
    const message = `TensorFlow.js has a handler for ${scheme} already, which loads and saves the same files`;
    throw new RuntimeError('ERR_COLL_CHECKPOINT', `registerFileHandler: ${message}`);
  }
  const router: Router = (url) => {
    // TensorFlow.js takes null, but not undefined, for "another handler".
    if (typeof url !== 'string' || !url.startsWith(scheme)) return null as never;
    return checkpointHandler(url.slice(scheme.length).replace(/\/model\.json$/, '') || '.');
  };
  io.registerLoadRouter(router);
  io.registerSaveRouter(router);
}

const scheme = 'file://';
