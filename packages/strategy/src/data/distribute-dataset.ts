import { NotImplementedError, PerReplica } from '@coll/core';
import { shardingOf } from './auto-shard.js';
import { CommonSteps } from './common-steps.js';
import { type DatasetLike, datasetOfWorker, fileCountOf, requireDataset } from './dataset.js';
import { DatasetReader } from './dataset-reader.js';
import { type Distributed, DistributedDataset } from './distributed-dataset.js';
import { EmptySteps } from './empty-steps.js';
import type { InputContext } from './input-context.js';
import { InputOptions, type InputOptionsInit } from './input-options.js';
import type { Readers } from './readers.js';
import { RebatchedSteps, type Rebatching } from './rebatched-steps.js';
import { SameInput } from './same-input.js';

/**
 * Splits the batches of a dataset across the replicas of a worker, which live on these devices.
 * `others` are the workers. Default: they do not meet.
 */
export function distributeDataset<Element>(
  dataset: DatasetLike<Element>,
  context: InputContext,
  devices: readonly string[],
  options?: InputOptionsInit,
  others?: Readers,
): DistributedDataset<Distributed<Element>> {
  const { numInputPipelines: numWorkers, inputPipelineId: workerIndex } = context;
  const place = { numWorkers, workerIndex, replicasPerWorker: devices.length };
  return rebatched(dataset, { place, devices, join: (parts) => new PerReplica(parts), others }, options);
}

/**
 * @throws ValueError for an invalid dataset or options, and files that cannot be shared;
 * NotImplementedError for PER_REPLICA
 */
export function rebatched<Element, Step>(
  dataset: DatasetLike<Element>,
  {
    place,
    devices,
    join,
    others,
  }: Pick<Rebatching, 'place' | 'devices' | 'join'> & { readonly others?: Readers | undefined },
  init?: InputOptionsInit,
): DistributedDataset<Step> {
  const options = new InputOptions(init);
  if (options.experimentalReplicationMode === 'PER_REPLICA') {
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      'experimentalDistributeDataset reads one copy of the dataset per worker: use PER_REPLICA only with distributeDatasetsFromFunction',
    );
  }
  requireDataset(dataset);
  const sharding = shardingOf(options.autoShardPolicy, fileCountOf(dataset), place.numWorkers);
  const own = datasetOfWorker(dataset, sharding, place);
  const { globalBatchSize, experimentalFetchToDevice, equalSteps } = options;
  const places = devices.map((device) => (experimentalFetchToDevice ? device : undefined));
  const { numWorkers: count, workerIndex: index } = place;
  const readers = count > 1 ? others : undefined;
  // With FILE or OFF, readers may read different elements, and different numbers of them.
  const isShared = sharding === 'DATA';
  const begin = () => {
    const empty = readers && !isShared ? new EmptySteps(places, join) : undefined;
    const isChecked = isShared && readers !== undefined;
    const rebatching = { place, sharding, globalBatchSize, devices: places, join, isChecked, empty };
    const steps = new RebatchedSteps(new DatasetReader(own), rebatching);
    if (empty)
      return { steps, agreement: new CommonSteps({ readers: readers as Readers, count, index, empty, equalSteps }) };
    return { steps, agreement: readers && new SameInput(readers, steps) };
  };
  return new DistributedDataset(begin as never, options.experimentalPerReplicaBufferSize);
}
