import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { type Remainder, type ReplicaInfo, requireContext, rowsOfReplica } from '@coll/strategy/internal';
import { requireSameData } from './same-data.js';
import { broadcastTables } from './share-broadcast.js';
import { isDataset, shareOfDataset } from './share-of-dataset.js';
import { nested, type Table, type Tables, tablesOf, takeRows } from './tables.js';
import { requireTensorFlow, type TensorFlow } from './tensorflow.js';
import { givenSharesOf, noteShare } from './uneven-shares.js';

/** How data is shared between replicas. */
export interface ShareOptions {
  /**
   * What happens if the number of rows does not divide by the number of replicas. 'exact': replicas with one row less
   * than others get a row of theirs twice, and the second one has weight 0. 'drop': no replica gets the last rows.
   * Default: 'exact'.
   */
  readonly remainder?: Remainder | undefined;
  /**
   * The replica whose data all replicas share, sent by a broadcast. What the others pass is not read, so they may pass
   * undefined. If that replica shares a dataset, the others pass any dataset, and each batch is broadcast. Default:
   * each replica passes the same data.
   */
  readonly from?: number | undefined;
}

const shareOptions = knownOptions<ShareOptions>('shareOf', { remainder: true, from: true });

type Sharer = ReplicaInfo & Pick<ReplicaContext, 'allReduceSync' | 'broadcastSync'>;

/**
 * This replica's part of data that each replica has: of N replicas, row i goes to replica i mod N. Batch k of a replica
 * is then a part of batch k of the whole data, which has N times as many rows.
 *
 * `data` is one of the following. All inputs in it must have the same number of rows. Inputs that belong together can
 * also be shared by one call each.
 * - a tensor. Its first axis counts the rows
 * - a list or typed array. Each element is a row
 * - a list of tensors, or a plain object of tensors, arrays and such objects
 * - a `tf.data.Dataset` whose elements are batches of the global batch size. The result is a dataset, too
 *
 * All replicas get the same number of rows, so they make the same number of steps. If the rows do not divide, a replica
 * with one row less than others gets its last row twice. `model.fit` with `shuffle: false` leaves the repeated row out.
 * With the shuffle of `fit` itself, it counts once more: at most N - 1 rows per epoch. In other loops, train on
 * `rowsOf(share)` rows, and say how many rows each step uses; otherwise the step is an error. The parts of a dataset's
 * batch have no repeated rows, so they may differ by one row, and may be empty. `fitDataset` weights them.
 *
 * Replicas compare a checksum of the data, in each epoch that of a dataset's first batch. Both are collectives: all
 * replicas must call this function, and read a dataset, equally often. The given tensors stay as they are; the tensors
 * of a dataset are disposed of.
 * @throws ValueError, the same on all replicas, if they pass different data, for example after a shuffle without a
 * seed; ValueError for invalid options, for data without rows, for inputs with different numbers of rows, and for
 * batches of a dataset that do not divide by the number of replicas, except the last one; NotImplementedError for
 * tensors on the webgpu backend
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { shareOf } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run((replica) => {
 *   const { xs, ys } = shareOf(tf, { xs: tf.ones([5, 2]), ys: tf.zeros([5, 1]) }, replica);
 *   // Of two replicas, both would get three rows.
 *   console.log(xs.shape, ys.shape); // [ 5, 2 ] [ 5, 1 ]
 * });
 * ```
 */
export function shareOf<Data extends object>(
  tf: TensorFlow,
  data: Data | undefined,
  context: Sharer,
  options: ShareOptions & { readonly from: number },
): Data;
export function shareOf<Data extends object>(tf: TensorFlow, data: Data, context: Sharer, options?: ShareOptions): Data;
export function shareOf(tf: TensorFlow, data: object | undefined, context: Sharer, options?: ShareOptions): object {
  requireTensorFlow(tf, 'shareOf');
  requireContext(context, 'allReduceSync', 'shareOf');
  const { remainder, from } = checkedOptions(options, context);
  if (isDataset(data)) return shareOfDataset(tf, data, context, { remainder, from });
  return partOf(tf, tablesOfAll(tf, data, context, from), context, remainder);
}

/** This replica's part of tables that are equal on all replicas. */
function partOf(
  tf: TensorFlow,
  { nesting, tables, rows: total }: Tables,
  context: Sharer,
  remainder: Remainder,
): object {
  const { rows, own } = rowsOfReplica(total, context, remainder);
  const { numReplicasInSync: replicas } = context;
  if (rows.length === 0) {
    throw invalid(`remainder: 'drop' leaves no row for any replica, got ${total} rows for ${replicas} replicas`);
  }
  if (remainder === 'exact' && total % replicas !== 0) {
    const given = givenSharesOf(context);
    given.areUneven = true;
    given.padded.add(rows.length);
  }
  return nested(nesting, (index) => {
    const part = takeRows(tf, tables[index] as Table, rows);
    noteShare(part, { own, total });
    return part;
  }) as object;
}

/** The tables of this replica's data, which must be the same on all replicas, or those of replica `from`. */
function tablesOfAll(tf: TensorFlow, data: unknown, context: Sharer, from: number | undefined): Tables {
  const isReader = from === undefined || context.replicaIdInSyncGroup === from;
  const own = isReader ? tablesOf(tf, data, 'shareOf') : undefined;
  if (from !== undefined) return broadcastTables('data', own, context, from) as Tables;
  requireSameData(own, context, 'pass different data to shareOf');
  return own as Tables;
}

function checkedOptions(options: ShareOptions | undefined, { numReplicasInSync: replicas }: ReplicaInfo) {
  const { remainder = 'exact', from } = optionsOf(options, "{ remainder: 'drop' }", shareOptions);
  if (remainder !== 'exact' && remainder !== 'drop')
    throw invalid(`remainder must be 'exact' or 'drop', got ${quote(remainder)}`);
  if (from !== undefined && (!Number.isInteger(from) || from < 0 || from >= replicas))
    throw invalid(`from must be the number of a replica, 0 to ${replicas - 1}, got ${quote(from)}`);
  return { remainder, from };
}

function invalid(message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `shareOf: ${message}`, { operation: 'shareOf' });
}
