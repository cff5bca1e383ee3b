import { ValueError } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import type { ReplicaInfo } from './exchange.js';
import { requireSameData } from './same-data.js';
import { nearestMultiples, ownRowsOfReplica, type Remainder } from './share-rule.js';
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

type Sharer = ReplicaInfo & Pick<ReplicaContext, 'allReduceSync'>;

export function isDataset(value: unknown): value is Dataset {
  const { iterator, forEachAsync } = Object(value);
  return typeof iterator === 'function' && typeof forEachAsync === 'function';
}

/** A dataset of this replica's part of each batch. */
export function shareOfDataset(tf: TensorFlow, dataset: Dataset, context: Sharer, remainder: Remainder): Dataset {
  const iterator = async () => {
    const batches = await dataset.iterator();
    const parts = new Parts(tf, batches, context, remainder);
    return Object.create(batches, { next: { value: () => parts.next() } }) as LazyIterator;
  };
  return Object.create(dataset, { iterator: { value: iterator } }) as Dataset;
}

/** The next batch of a dataset, or its end. */
type Read = { readonly batch: unknown; readonly tables: Tables } | undefined;

/** One reading of a dataset. */
class Parts {
  readonly #tf: TensorFlow;
  readonly #batches: LazyIterator;
  readonly #context: Sharer;
  readonly #remainder: Remainder;
  #isFirst = true;
  #hasEnded = false;
  /** The latest call of `next`: the methods of `tf.data` do not wait for one before they make another. */
  #latest: Promise<unknown> = Promise.resolve();

  constructor(tf: TensorFlow, batches: LazyIterator, context: Sharer, remainder: Remainder) {
    this.#tf = tf;
    this.#batches = batches;
    this.#context = context;
    this.#remainder = remainder;
  }

  next(): Promise<IteratorResult<unknown, unknown>> {
    const next = this.#latest.then(() => this.#next());
    this.#latest = next.catch(() => {});
    return next;
  }

  async #next(): Promise<IteratorResult<unknown, unknown>> {
    const read = this.#hasEnded ? undefined : await this.#read();
    if (!read) return { value: null, done: true };
    const { rows: total, nesting, tables } = read.tables;
    const { numReplicasInSync: replicas } = this.#context;
    if (total % replicas !== 0) {
      await this.#requireEnd(total);
      if (this.#remainder === 'exact') givenSharesOf(this.#context).areUneven = true;
    }
    const rows = ownRowsOfReplica(total, this.#context, this.#remainder);
    // With 'drop', no replica has a part of a batch with fewer rows than replicas.
    if (rows.length === 0 && this.#remainder === 'drop') return { value: null, done: true };
    return { value: nested(nesting, (index) => takeRows(this.#tf, tables[index] as Table, rows)), done: false };
  }

  /** Reads a batch, and disposes of its tensors. @throws ValueError on all replicas if their first batches differ */
  async #read(): Promise<Read> {
    const { value: batch, done } = await this.#batches.next();
    this.#hasEnded = done === true;
    try {
      const tables = done ? undefined : await tablesOfBatch(batch, 'shareOf');
      if (this.#isFirst) requireSameData(tables, this.#context, 'read different first batches of a dataset');
      this.#isFirst = false;
      return tables && { batch, tables };
    } finally {
      if (!done) disposeOf(batch);
    }
  }

  /** @throws ValueError unless the batch of so many rows is the last */
  async #requireEnd(rows: number): Promise<void> {
    if (!(await this.#read())) return;
    const { numReplicasInSync: replicas } = this.#context;
    const message = `each batch of the dataset but the last must have a multiple of ${replicas} rows, one part per replica, got ${rows}`;
    throw new ValueError('ERR_COLL_VALUE', `shareOf: ${message}; use batches of ${nearestMultiples(rows, replicas)}`, {
      operation: 'shareOf',
    });
  }
}

function disposeOf(batch: unknown): void {
  if (isTensor(batch)) batch.dispose();
  else if (typeof batch === 'object' && batch !== null) for (const part of Object.values(batch)) disposeOf(part);
}
