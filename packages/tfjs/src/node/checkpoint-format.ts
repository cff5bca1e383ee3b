import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { RuntimeError } from '@coll/core';
import { messageOf, quote } from '@coll/core/internal';
import { arraysFrom, bytesOf, specsOf } from '../named-arrays.js';
import type { OptimizerSnapshot } from '../optimizer-snapshot.js';
import type { StateSnapshot } from '../training-state.js';
import type { Files } from './checkpoint-folders.js';
import { type ModelFiles, modelFiles, weightSpecsIn } from './model-files.js';

/** The file that is written last, and describes all others. */
export const manifestName = 'checkpoint.json';
const optimizerName = 'optimizer.bin';
const format = 'coll checkpoint';
const version = 1;

/** What a checkpoint says about itself, besides the state. */
export interface CheckpointNotes {
  /** Whether it was saved within an epoch, of which `epoch` does not count the steps. */
  readonly withinEpoch?: boolean | undefined;
  /** The value of the metric that decides which checkpoint is the best. */
  readonly best?: { readonly metric: string; readonly value: number } | undefined;
}

/** A file of a checkpoint. */
interface FileEntry {
  readonly bytes: number;
  readonly sha256: string;
}

interface Manifest extends CheckpointNotes {
  readonly epoch: number;
  readonly step: number;
  readonly data?: unknown;
  readonly trained: readonly boolean[];
  readonly optimizer?: Omit<OptimizerSnapshot, 'weights' | 'fields'> & {
    readonly weights: unknown;
    readonly fields: unknown;
  };
  readonly files: Readonly<Record<string, FileEntry>>;
}

/** The state in a checkpoint. */
export interface Checkpoint {
  readonly snapshot: StateSnapshot;
  readonly notes: CheckpointNotes;
}

/** A checkpoint that a crash or a disk has damaged, or that is something else. */
export class NotWhole extends Error {}

/** The files of a checkpoint. The manifest is the last one. */
export function checkpointFiles(
  { epoch, step, data, trained, optimizer }: Omit<StateSnapshot, 'weights'>,
  model: ModelFiles,
  notes: CheckpointNotes,
): Files {
  const state = optimizer && bytesOf([...optimizer.weights, ...optimizer.fields]);
  const files = new Map<string, Uint8Array>([...model, ...(state ? [[optimizerName, state] as const] : [])]);
  const { withinEpoch, best } = notes;
  const manifest: Manifest & { readonly format: string; readonly version: number } = {
    format,
    version,
    epoch,
    step,
    ...(data === undefined ? {} : { data }),
    ...(withinEpoch ? { withinEpoch } : {}),
    ...(best ? { best } : {}),
    trained,
    ...(optimizer
      ? {
          optimizer: {
            name: optimizer.name,
            config: optimizer.config,
            weights: specsOf(optimizer.weights),
            fields: specsOf(optimizer.fields),
          },
        }
      : {}),
    files: Object.fromEntries([...files].map(([name, bytes]) => [name, entryOf(bytes)])),
  };
  return files.set(manifestName, new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`));
}

function entryOf(bytes: Uint8Array): FileEntry {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/**
 * Reads the manifest of a checkpoint.
 * @throws NotWhole if it is missing or damaged; RuntimeError if a newer release wrote it
 */
export async function readManifest(folder: string): Promise<Manifest> {
  const file = path.join(folder, manifestName);
  const text = new TextDecoder().decode(await bytesIn(file));
  let value: Partial<Record<keyof Manifest | 'format' | 'version', unknown>>;
  try {
    value = Object(JSON.parse(text));
  } catch (error) {
    throw new NotWhole(`${file} is not JSON: ${messageOf(error)}`);
  }
  if (value.format !== format) throw new NotWhole(`${file} does not describe a checkpoint`);
  if (value.version !== version) {
    const message = `${file} has version ${quote(value.version)}, but this release of @coll/tfjs reads version ${version}`;
    throw new RuntimeError('ERR_COLL_CHECKPOINT', message);
  }
  const { epoch, step, trained, files } = value;
  const areCounters = [epoch, step].every((count) => Number.isSafeInteger(count) && (count as number) >= 0);
  const areFlags = Array.isArray(trained) && trained.every((flag) => typeof flag === 'boolean');
  if (!areCounters || !areFlags || !isFileList(files))
    throw new NotWhole(`${file} lacks the epoch, the step, the files or what was trained`);
  return value as unknown as Manifest;
}

function isFileList(value: unknown): boolean {
  const names = Object.keys(Object(value));
  const isName = (name: string) => name === optimizerName || modelFiles.some((file) => file === name);
  return modelFiles.every((name) => names.includes(name)) && names.every(isName);
}

/**
 * Reads a checkpoint and checks all its files.
 * @throws NotWhole if a file is missing or differs from what was written; RuntimeError if a newer
 * release wrote it
 */
export async function readCheckpoint(folder: string): Promise<Checkpoint> {
  const manifest = await readManifest(folder);
  const { epoch, step, data, trained, optimizer, withinEpoch, best } = manifest;
  const read = new Map<string, Uint8Array>();
  for (const [name, entry] of Object.entries(manifest.files)) read.set(name, await bytesOfEntry(folder, name, entry));
  try {
    const [topology, weights] = modelFiles.map((name) => read.get(name) as Uint8Array) as [Uint8Array, Uint8Array];
    const snapshot = {
      ...{ epoch, step, data, trained },
      weights: arraysFrom(weightSpecsIn(topology), weights),
      optimizer: optimizer && optimizerFrom(optimizer, read.get(optimizerName)),
    };
    return { snapshot, notes: { withinEpoch, best } };
  } catch (error) {
    throw new NotWhole(`${folder} is not valid: ${messageOf(error)}`);
  }
}

function optimizerFrom(
  { name, config, weights, fields }: NonNullable<Manifest['optimizer']>,
  bytes: Uint8Array | undefined,
): OptimizerSnapshot {
  if (!bytes || typeof name !== 'string' || !Array.isArray(weights) || !Array.isArray(fields))
    throw new NotWhole(`the description of the optimizer does not belong to ${optimizerName}`);
  const arrays = arraysFrom([...weights, ...fields], bytes);
  const own: object = Object(config);
  return {
    name,
    config: own as OptimizerSnapshot['config'],
    weights: arrays.slice(0, weights.length),
    fields: arrays.slice(weights.length),
  };
}

async function bytesOfEntry(folder: string, name: string, entry: unknown): Promise<Uint8Array> {
  const { bytes: expected, sha256 } = Object(entry) as Partial<FileEntry>;
  const file = path.join(folder, name);
  const bytes = await bytesIn(file, expected);
  if (entryOf(bytes).sha256 !== sha256) throw new NotWhole(`${file} does not have the checksum in ${manifestName}`);
  return bytes;
}

/** Reads a file. @param expected its length. Default: any up to 64 MiB */
async function bytesIn(file: string, expected?: number): Promise<Uint8Array> {
  try {
    const { size } = await stat(file);
    if (expected === undefined ? size > 2 ** 26 : size !== expected)
      throw new NotWhole(`${file} has ${size} bytes${expected === undefined ? '' : `, but ${expected} were written`}`);
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR') throw new NotWhole(`${file} does not exist`);
    throw error;
  }
}
