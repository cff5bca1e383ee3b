import { ValueError } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import { nearestMultiples, ownRowsOfReplica, type Remainder, type ReplicaInfo } from '@coll/strategy/internal';
import { requireSameData } from './same-data.js';
import { broadcastTables } from './share-broadcast.js';
import { isTensor, nested, type Table, type Tables, tablesOfBatch, takeRows } from './tables.js';
import type { TensorFlow } from './tensorflow.js';
import { givenSharesOf } from './uneven-shares.js';

/** An iterator of `tf.data`, whose other methods call `next`. */
interface LazyIterator {
  next(): Promise<IteratorResult<unknown, unknown>>;
}

/** A `tf.data.Dataset`, whose other methods call `iterator`. */
export interface Dataset {
  iterator(): Promise<LazyIterator>;
}

type Sharer = ReplicaInfo & Pick<ReplicaContext, 'allReduceSync' | 'broadcastSync'>;

interface Sharing {
  readonly remainder: Remainder;
  /** The replica that reads the batches; undefined if each replica reads them. */
  readonly from: number | undefined;
}

export function isDataset(value: unknown): value is Dataset {
  const { iterator, forEachAsync } = Object(value);
  return typeof iterator === 'function' && typeof forEachAsync === 'function';
}

/** A dataset of this replica's part of each batch. */
export function shareOfDataset(tf: TensorFlow, dataset: Dataset, context: Sharer, sharing: Sharing): Dataset {
  const isReader = sharing.from === undefined || context.replicaIdInSyncGroup === sharing.from;
  // A replica that does not read may not even have the files.
  const { data } = tf as { readonly data?: { array(items: []): Dataset } };
  const source = isReader ? dataset : (data?.array([]) ?? dataset);
  const iterator = async () => {
    const batches = await source.iterator();
    const parts = new Parts(tf, batches, context, sharing);
    return Object.create(batches, { next: { value: () => parts.next() } }) as LazyIterator;
  };
  return Object.create(dataset, { iterator: { value: iterator } }) as Dataset;
}

/** One reading of a dataset. */
class Parts {
  readonly #tf: TensorFlow;
  readonly #batches: LazyIterator;
  readonly #context: Sharer;
  readonly #sharing: Sharing;
  #isFirst = true;
  /** Rows of the first batch. */
  #usualRows: number | undefined;
  #hasEnded = false;
  /** The latest call of `next`: the methods of `tf.data` do not wait for one before they make another. */
  #latest: Promise<unknown> = Promise.resolve();

  constructor(tf: TensorFlow, batches: LazyIterator, context: Sharer, sharing: Sharing) {
    this.#tf = tf;
    this.#batches = batches;
    this.#context = context;
    this.#sharing = sharing;
  }

  next(): Promise<IteratorResult<unknown, unknown>> {
    const next = this.#latest.then(() => this.#next());
    this.#latest = next.catch(() => {});
    return next;
  }

  async #next(): Promise<IteratorResult<unknown, unknown>> {
    const read = this.#hasEnded ? undefined : await this.#read();
    if (!read) return { value: null, done: true };
    const { rows: total, nesting, tables } = read;
    const { numReplicasInSync: replicas } = this.#context;
    const { remainder } = this.#sharing;
    this.#usualRows ??= total;
    if (total % replicas !== 0) {
      await this.#requireEnd(total);
      if (remainder === 'exact') givenSharesOf(this.#context).areUneven = true;
    }
    const rows = ownRowsOfReplica(total, this.#context, remainder);
    // With 'drop', no replica has a part of a batch with fewer rows than replicas.
    if (rows.length === 0 && remainder === 'drop') return { value: null, done: true };
    return { value: nested(nesting, (index) => takeRows(this.#tf, tables[index] as Table, rows)), done: false };
  }

  /** The next batch, or undefined. @throws ValueError on all replicas if their first batches differ */
  async #read(): Promise<Tables | undefined> {
    const { from } = this.#sharing;
    const isReader = from === undefined || this.#context.replicaIdInSyncGroup === from;
    const own = isReader ? await this.#readOwn() : undefined;
    const tables = from === undefined ? own : broadcastTables('a dataset', own, this.#context, from);
    this.#hasEnded = !tables;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst && from === undefined) requireSameData(own, this.#context, 'read different first batches of a dataset');
    return tables;
  }

  /** Reads a batch, and disposes of its tensors. */
  async #readOwn(): Promise<Tables | undefined> {
    const { value: batch, done } = await this.#batches.next();
    if (done) return undefined;
    try {
      return await tablesOfBatch(batch, 'shareOf');
    } finally {
      disposeOf(batch);
    }
  }

  /** @throws ValueError unless the batch, which has this number of rows, is the last */
  async #requireEnd(rows: number): Promise<void> {
    if (!(await this.#read())) return;
    const { numReplicasInSync: replicas } = this.#context;
    const advice =
      rows === this.#usualRows
        ? `use batches of ${nearestMultiples(rows, replicas)}`
        : 'call repeat() and concatenate() after shareOf, or leave small batches out by batch(size, false)';
    const message = `each batch of the dataset but the last must have a multiple of ${replicas} rows, one part per replica, got ${rows}`;
    throw new ValueError('ERR_COLL_VALUE', `shareOf: ${message}; ${advice}`, { operation: 'shareOf' });
  }
}

function disposeOf(batch: unknown): void {
  if (isTensor(batch)) batch.dispose();
  else if (typeof batch === 'object' && batch !== null) for (const part of Object.values(batch)) disposeOf(part);
}
