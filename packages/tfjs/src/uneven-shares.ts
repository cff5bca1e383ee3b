import { ValueError } from '@coll/core';
import { quote, runOf } from '@coll/core/internal';
import type { ReplicaInfo } from '@coll/strategy/internal';
import { isPlainObject, isTensor } from './tables.js';

/** What `shareOf` has given to a replica in one run. */
export interface GivenShares {
  /** Numbers of rows, the repeated one included, of shares of which some replicas repeat a row. */
  readonly padded: Set<number>;
  /** Whether some shares, or parts of batches of a data set, have more rows of their own than others. Equal on all replicas. */
  areUneven: boolean;
}

// By run, because a replica in a thread keeps its context for the next run.
const given = new WeakMap<object, GivenShares>();

/** What `shareOf` has given to this replica in the present run. */
export function givenSharesOf(context: ReplicaInfo): GivenShares {
  const run = runOf(context);
  const known = given.get(run) ?? { padded: new Set(), areUneven: false };
  given.set(run, known);
  return known;
}

/** A tensor, array or list that `shareOf` has returned. */
export interface Share {
  /** Rows of the replica itself; one more is repeated on replicas that have fewer of them than others. */
  readonly own: number;
  /** Rows of the data of which this is a share. */
  readonly total: number;
}

// Kept as long as the tensor or array.
const shares = new WeakMap<object, Share>();

/** Records that a value is a share. */
export function noteShare(value: object, share: Share): void {
  shares.set(value, share);
}

/** The shares in inputs of a model. */
export function sharesIn(value: unknown, seen = new Set<object>()): readonly Share[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  const known = shares.get(value);
  if (known) return [known];
  // A list that contains no tensors contains rows.
  const isNest = Array.isArray(value) ? isTensor(value[0]) : isPlainObject(value);
  return isNest ? Object.values(value).flatMap((each) => sharesIn(each, seen)) : [];
}

/**
 * The number of rows of a share that are this replica's own. `shareOf` repeats one row on a replica that has fewer
 * rows than others; the repeated row is the last one. A loop of its own trains on the rows before it.
 * @throws ValueError unless `shareOf` has returned the share
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { rowsOf, shareOf } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run((replica) => {
 *   const xs = shareOf(tf, tf.ones([5, 2]), replica);
 *   console.log(rowsOf(xs)); // 5
 * });
 * ```
 */
export function rowsOf(share: unknown): number {
  const [found] = sharesIn(share);
  if (found) return found.own;
  const message = `share must be a tensor, an array or inputs that shareOf has returned, got ${quote(share)}`;
  throw new ValueError('ERR_COLL_VALUE', `rowsOf: ${message}`, { operation: 'rowsOf' });
}

/** @throws ValueError if this replica's step may have another number of samples than those of the others */
export function requireEvenShares(context: ReplicaInfo): void {
  if (!givenSharesOf(context).areUneven) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    'shareOf has given replicas unequal numbers of rows, and this step does not say how many it uses: ' +
      'pass the option samples to distributedOptimizer or reduceGradients, ' +
      'or await distributedCallbacks(tf, callbacks, context).onBatchBegin(batch, { size }) before the step; ' +
      "rowsOf(share) returns the replica's own rows. Or share with { remainder: 'drop' }",
    { operation: 'step' },
  );
}
