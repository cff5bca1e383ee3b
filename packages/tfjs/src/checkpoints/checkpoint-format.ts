import { messageOf } from '@coll/core/internal';
import {
  type Disk,
  type FileEntries,
  type Files,
  manifestName,
  NotWhole,
  type ReadableDisk,
  readEntries,
  readFields,
  withManifest,
} from '@coll/strategy/internal';
import { arraysFrom, bytesOf, specsOf } from '../named-arrays.js';
import type { OptimizerSnapshot } from '../optimizer-snapshot.js';
import type { StateSnapshot } from '../training-state.js';
import { type ModelFiles, modelFiles, weightSpecsIn } from './model-files.js';

const optimizerName = 'optimizer.bin';
const format = { format: 'coll checkpoint', version: 1, reader: '@coll/tfjs' } as const;

/** What a checkpoint says about itself, besides the state. */
export interface CheckpointNotes {
  /** Whether it was saved within an epoch, of which `epoch` does not count the steps. */
  readonly withinEpoch?: boolean | undefined;
  /** The value of the metric that decides which checkpoint is the best. */
  readonly best?: { readonly metric: string; readonly value: number } | undefined;
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
  readonly files: FileEntries;
}

/** The state in a checkpoint. */
export interface Checkpoint {
  readonly snapshot: StateSnapshot;
  readonly notes: CheckpointNotes;
}

/** The files of a checkpoint. The manifest is the last one. */
export function checkpointFiles(
  disk: Pick<Disk, 'sha256'>,
  { epoch, step, data, trained, optimizer }: Omit<StateSnapshot, 'weights'>,
  model: ModelFiles,
  notes: CheckpointNotes,
): Promise<Files> {
  const state = optimizer && bytesOf([...optimizer.weights, ...optimizer.fields]);
  const files = new Map<string, Uint8Array>([...model, ...(state ? [[optimizerName, state] as const] : [])]);
  const { withinEpoch, best } = notes;
  const fields: Omit<Manifest, 'files'> = {
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
  };
  return withManifest(disk, files, format, fields);
}

/**
 * Reads the manifest of a checkpoint.
 * @throws NotWhole if it is missing or damaged; RuntimeError if a newer release wrote it
 */
export async function readManifest(disk: ReadableDisk, folder: string): Promise<Manifest> {
  const file = disk.path.join(folder, manifestName);
  const value = await readFields(disk, folder, format);
  const { epoch, step, trained, files } = value as Partial<Record<keyof Manifest, unknown>>;
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
export async function readCheckpoint(disk: ReadableDisk, folder: string): Promise<Checkpoint> {
  const manifest = await readManifest(disk, folder);
  return checkpointIn(folder, manifest, await readEntries(disk, folder, manifest.files));
}

/**
 * Reads the files of a checkpoint as they are, of which the manifest is the last one.
 * @throws as `readCheckpoint`
 */
export async function filesOfCheckpoint(disk: ReadableDisk, folder: string): Promise<Files> {
  const manifest = await readManifest(disk, folder);
  const files = await readEntries(disk, folder, manifest.files);
  checkpointIn(folder, manifest, files);
  const last = await disk.read(disk.path.join(folder, manifestName), () => {});
  if (!last) throw new NotWhole(`${folder} was removed meanwhile`);
  return files.set(manifestName, last);
}

function checkpointIn(folder: string, manifest: Manifest, read: Files): Checkpoint {
  const { epoch, step, data, trained, optimizer, withinEpoch, best } = manifest;
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
