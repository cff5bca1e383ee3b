import type { Tensor } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import {
  type AsyncReducer,
  exchange,
  hashOf,
  ownRowsOfReplica,
  type Remainder,
  type ReplicaInfo,
  requireContext,
  requireSameChecksum,
} from '@coll/strategy/internal';
import { invalid, type JaxArray } from './arrays.js';
import { seededOrder } from './seeded-order.js';
import { hashOfTables, type Table, tablesOf, takeRows } from './tables.js';
import { rebuilt } from './trees.js';

/** How data is divided into batches. */
export interface BatchesOptions {
  /** Rows of a batch of all replicas together, one per replica at least. */
  readonly batchSize: number;
  /** Shuffles all rows in each epoch, in an order that depends on the seed and the epoch only. Default: no shuffle. */
  readonly seed?: number | undefined;
  /**
   * What happens to the rows that are left if the number of rows does not divide by `batchSize`. `'exact'`: they are a
   * smaller batch, in which some replicas may have a row less than others, or none. `'drop'`: they are left out, so that all
   * batches have the same shape. Default: `'exact'`.
   */
  readonly remainder?: Remainder | undefined;
}

const names = knownOptions<BatchesOptions>('batches', { batchSize: true, seed: true, remainder: true });

/** Data of the same structure, with an array of jax-js for each of its arrays. */
export type BatchOf<Data> = Data extends JaxArray | ArrayBufferView | Tensor
  ? JaxArray
  : Data extends object
    ? { -readonly [Key in keyof Data]: BatchOf<Data[Key]> }
    : never;

/** This replica's parts of the batches of some data. */
export interface Batches<Data> {
  /** Batches of an epoch, the same number on all replicas. */
  readonly steps: number;
  /**
   * This replica's parts of the batches of an epoch, in order. The caller owns the arrays of each.
   * @param epoch a whole number from 0, on which the order of shuffled rows depends
   */
  epoch(epoch: number): IterableIterator<BatchOf<Data>>;
}

/**
 * Divides data that each replica has into batches, and each batch between replicas: of N replicas, row i of a batch goes to
 * replica i mod N. So `batchSize` means the same as in a program with one replica, and all replicas make the same number
 * of steps. A replica that has no row in the last batch gets arrays without rows, with which `dataParallel` computes
 * nothing; the others are weighted by their rows.
 *
 * `data` is an array of jax-js, which is consumed, a typed array, whose elements are rows, `tensor(values, { shape })` of
 * `@coll/core`, or nested lists and plain objects of these. The first axis of each counts rows. Data stays in the memory
 * of JavaScript; each step copies its rows. Replicas compare a checksum of data and options. If only one replica has read
 * the data, call `broadcast(context, data)` first.
 * @throws ValueError, the same on all replicas, if they pass different data, for example after a shuffle without a seed;
 * ValueError for data with different numbers of rows, or fewer rows than replicas, and for invalid options
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { batches } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * const x = tensor(new Float32Array(10), { shape: [5, 2] });
 * const y = new Float32Array([0, 1, 2, 3, 4]);
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const rows = await strategy.run(async (replica) => {
 *   const train = await batches(replica, { x, y }, { batchSize: 4 });
 *   return JSON.stringify(Array.from(train.epoch(0), (batch) => batch.y.js()));
 * });
 * console.log(strategy.experimentalLocalResults(rows)); // [ '[[0,2],[4]]', '[[1,3],[]]' ]
 * ```
 */
export async function batches<Data extends object>(
  context: ReplicaInfo & AsyncReducer,
  data: Data,
  options: BatchesOptions,
): Promise<Batches<Data>> {
  const operation = 'batches';
  requireContext(context, 'allReduce', operation);
  const given = checkedOptions(options, context);
  const tables = await tablesOf(data, operation);
  const checksum = hashOf(JSON.stringify([hashOfTables(tables), given]));
  const what = 'pass different data or options to batches';
  const cures = 'or as arrays of jax-js take that of replica 0 by broadcast(context, data)';
  await exchange(requireSameChecksum(checksum, context, { operation, what, cures }), context);
  const { batchSize, seed, remainder } = given;
  const rows = tables[0]?.shape[0] as number;
  const steps = remainder === 'drop' ? Math.floor(rows / batchSize) : Math.ceil(rows / batchSize);
  const fewest = remainder === 'drop' ? batchSize : context.numReplicasInSync;
  if (rows < fewest) {
    const who = remainder === 'drop' ? "with remainder: 'drop', a batch" : 'one per replica';
    throw invalid(operation, `data must have at least ${fewest} rows, ${who}, got ${rows}`);
  }
  return {
    steps,
    epoch: (epoch) => {
      if (!Number.isSafeInteger(epoch) || epoch < 0)
        throw invalid(operation, `epoch must be a whole number from 0, got ${quote(epoch)}`);
      const order = seed === undefined ? undefined : seededOrder(rows, seed, epoch);
      return partsOf({ data, tables, order, rows, steps, batchSize }, context);
    },
  };
}

interface Epoch<Data> {
  readonly data: Data;
  readonly tables: readonly Table[];
  /** Undefined: the order of the data. */
  readonly order: Int32Array | undefined;
  readonly rows: number;
  readonly steps: number;
  readonly batchSize: number;
}

function* partsOf<Data>(
  { data, tables, order, rows, steps, batchSize }: Epoch<Data>,
  context: ReplicaInfo,
): Generator<BatchOf<Data>, undefined> {
  for (let step = 0; step < steps; step++) {
    const begin = step * batchSize;
    const places = ownRowsOfReplica(Math.min(batchSize, rows - begin), context, 'exact').map((place) => begin + place);
    const own = order ? places.map((place) => order[place] as number) : places;
    yield rebuilt<unknown>(
      data,
      tables.map((table) => takeRows(table, own)),
    ) as BatchOf<Data>;
  }
}

function checkedOptions(options: BatchesOptions, { numReplicasInSync: replicas }: ReplicaInfo) {
  const operation = 'batches';
  const { batchSize, seed, remainder = 'exact' } = optionsOf(options, '{ batchSize: 64 }', names);
  if (!Number.isSafeInteger(batchSize) || (batchSize as number) < replicas)
    throw invalid(
      operation,
      `batchSize must be a whole number from ${replicas}, the number of replicas, got ${quote(batchSize)}`,
    );
  if (seed !== undefined && !Number.isSafeInteger(seed))
    throw invalid(operation, `seed must be a whole number, got ${quote(seed)}`);
  if (remainder !== 'exact' && remainder !== 'drop')
    throw invalid(operation, `remainder must be 'exact' or 'drop', got ${quote(remainder)}`);
  return { batchSize: batchSize as number, seed, remainder };
}
