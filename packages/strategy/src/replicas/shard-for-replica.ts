import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { DatasetLike } from '../data/dataset.js';
import { rebatched } from '../data/distribute-dataset.js';
import type { DistributedDataset } from '../data/distributed-dataset.js';
import type { InputOptionsInit } from '../data/input-options.js';
import { type MaxOverReaders, Readers, readersOf } from '../data/readers.js';
import type { ReplicaContext } from '../scope/strategy.js';
import { GroupReplicaContext } from './group-replica-context.js';

/**
 * One replica's part of a dataset, for replicas that read their input themselves, such as those in
 * worker threads: in every step a replica gets the part that `experimentalDistributeDataset` would
 * give this replica. Every replica passes the same dataset, batched by the global batch size, and
 * keeps its part. If the dataset is made of at least one file per replica, each replica reads only
 * its own files, and replicas that have read theirs get empty parts until all have. Otherwise, in
 * each epoch replicas compare a checksum of their first batch. Both are collectives, so all replicas
 * must read the dataset equally often, and leave a loop after the same step.
 * @throws ValueError for an invalid dataset or options, and in the first step if the first batches
 * differ, for example after a shuffle without a seed; NotImplementedError for PER_REPLICA
 *
 * @example
 * ```ts
 * import { MirroredStrategy, shardForReplica } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const batches = [new Float32Array([1, 2, 3]), new Float32Array([4, 5])];
 * const sums = await strategy.run(async (replica) => {
 *   let sum = 0;
 *   for await (const part of shardForReplica(batches, replica))
 *     for (const value of part) sum += value;
 *   return sum;
 * });
 * console.log(strategy.experimentalLocalResults(sums)); // [ 7, 8 ]
 * ```
 */
export function shardForReplica<Element>(
  dataset: DatasetLike<Element>,
  context: Pick<ReplicaContext, 'numReplicasInSync' | 'replicaIdInSyncGroup' | 'devices'> &
    Partial<Pick<ReplicaContext, 'allReduce'>>,
  options?: InputOptionsInit,
): DistributedDataset<Element> {
  const { numReplicasInSync: numWorkers, replicaIdInSyncGroup: workerIndex, devices } = requireContext(context);
  const index = { numWorkers, workerIndex, replicasPerWorker: 1 };
  const max = maxOf(context);
  const refuse = context instanceof GroupReplicaContext ? (error: unknown) => context.refuse(error) : undefined;
  const others = max && readersOf(context, () => new Readers({ what: 'replica', max, refuse }));
  try {
    return rebatched(dataset, { place: index, devices, join: ([part]) => part, others }, options);
  } catch (error) {
    refuse?.(error);
    throw error;
  }
}

type Context = Parameters<typeof shardForReplica>[1];

/** How a replica meets the others; undefined if its context has no collectives. */
function maxOf(context: Context): MaxOverReaders | undefined {
  if (context instanceof GroupReplicaContext) return (numbers) => context.maxForInput(numbers);
  return context.allReduce && ((numbers) => (context as ReplicaContext).allReduce('max', numbers));
}

function requireContext(context: Context): Context {
  const { numReplicasInSync, replicaIdInSyncGroup, devices } = Object(context) as Partial<Context>;
  const isContext = Number.isInteger(numReplicasInSync) && Number.isInteger(replicaIdInSyncGroup);
  if (isContext && Array.isArray(devices)) return context;
  const message = `shardForReplica: context must be the context of a replica, got ${quote(context)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}
