import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { filesOfWorker, type Sharding } from './auto-shard.js';
import type { WorkerPlace } from './sub-batches.js';

/**
 * A `tf.data.Dataset` of TensorFlow.js, or an object with the same method. The reader owns the
 * elements and disposes of them.
 */
export interface LazyDataset<Element> {
  /** A new iterator from the beginning. */
  iterator(): Promise<{ next(): Promise<IteratorResult<Element>> }>;
}

/** A source that can be read from beginning to end. */
export type Readable<Element> =
  | Iterable<Element | PromiseLike<Element>>
  | AsyncIterable<Element>
  | LazyDataset<Element>;

/** A dataset made of files, which workers can share by file. */
export interface FileDataset<Element, File = never> {
  /** Any values that `read` accepts: names, URLs, handles. */
  readonly files: readonly unknown[];
  /**
   * Returns the elements of the given files, one file after the other. Called each time the dataset
   * is read.
   */
  read(files: readonly File[]): Readable<Element> | PromiseLike<Readable<Element>>;
}

/** A dataset, or a function that creates it, called each time the dataset is read. */
export type DatasetLike<Element> =
  | Readable<Element>
  | FileDataset<Element>
  | (() => Readable<Element> | PromiseLike<Readable<Element>>);

/** @throws ValueError unless `value` is a dataset */
export function requireDataset(value: unknown): void {
  if (typeof value === 'function' || isFileDataset(value) || isReadable(value)) return;
  throw notDataset(value);
}

/** Number of files of a dataset made of files; undefined for any other. */
export function fileCountOf(dataset: unknown): number | undefined {
  return isFileDataset(dataset) ? dataset.files.length : undefined;
}

/** The part of a dataset that a worker reads. */
export function datasetOfWorker<Element>(
  dataset: DatasetLike<Element>,
  sharding: Sharding,
  { numWorkers, workerIndex }: WorkerPlace,
): DatasetLike<Element> {
  if (sharding !== 'FILE' || !isFileDataset(dataset)) return dataset;
  const files = filesOfWorker(dataset.files, numWorkers, workerIndex);
  return () => dataset.read(files as never[]) as Readable<Element>;
}

/** An iterator of any kind of dataset. */
export interface OpenDataset {
  readonly iterator: {
    next(): IteratorResult<unknown> | Promise<IteratorResult<unknown>>;
    return?(): unknown;
  };
  /** Whether the reader owns the elements and must free them. */
  readonly givesAway: boolean;
}

/** Opens a dataset or a promise of a dataset. @throws ValueError unless the value is a dataset */
export async function openDataset(dataset: unknown): Promise<OpenDataset> {
  const readable = await readableOf(await dataset);
  if (!isReadable(readable)) throw notDataset(readable);
  if (Symbol.asyncIterator in readable) return { iterator: readable[Symbol.asyncIterator](), givesAway: false };
  if (Symbol.iterator in readable) return { iterator: readable[Symbol.iterator](), givesAway: false };
  return { iterator: await readable.iterator(), givesAway: true };
}

function readableOf(dataset: unknown): unknown {
  if (typeof dataset === 'function') return dataset();
  return isFileDataset(dataset) ? dataset.read(dataset.files as never[]) : dataset;
}

function isReadable(value: unknown): value is Readable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  if (Symbol.asyncIterator in value || Symbol.iterator in value) return true;
  return typeof (value as Partial<LazyDataset<unknown>>).iterator === 'function';
}

function isFileDataset(value: unknown): value is FileDataset<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const { files, read } = value as Partial<FileDataset<unknown>>;
  return Array.isArray(files) && typeof read === 'function' && !isReadable(value);
}

function notDataset(value: unknown): ValueError {
  return new ValueError(
    'ERR_COLL_VALUE',
    `a dataset must be an iterable, an async iterable, a tf.data.Dataset, { files, read }, or a function that returns one of these, got ${quote(value)}`,
  );
}
