import { NotImplementedError, PerReplica } from '@coll/core';
import { shardingOf } from './auto-shard.js';
import { type DatasetLike, datasetOfWorker, fileCountOf, requireDataset } from './dataset.js';
import { DatasetReader } from './dataset-reader.js';
import { type Distributed, DistributedDataset } from './distributed-dataset.js';
import type { InputContext } from './input-context.js';
import { InputOptions, type InputOptionsInit } from './input-options.js';
import { RebatchedSteps, type Rebatching } from './rebatched-steps.js';
import { type MaxOverReaders, type Readers, requireSameInput } from './same-input.js';

/** Splits the batches of a dataset across the replicas of a worker, which live on these devices. */
export function distributeDataset<Element>(
  dataset: DatasetLike<Element>,
  context: InputContext,
  devices: readonly string[],
  options?: InputOptionsInit,
  max?: MaxOverReaders,
): DistributedDataset<Distributed<Element>> {
  const { numInputPipelines: numWorkers, inputPipelineId: workerIndex } = context;
  const place = { numWorkers, workerIndex, replicasPerWorker: devices.length };
  const others = max && { max, readers: 'workers' };
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
  const { globalBatchSize, experimentalFetchToDevice } = options;
  // With FILE or OFF, readers may read different elements on purpose.
  const compared = sharding === 'DATA' && place.numWorkers > 1 ? others : undefined;
  const rebatching = {
    place,
    sharding,
    globalBatchSize,
    devices: experimentalFetchToDevice ? devices : [],
    join,
    isChecked: compared !== undefined,
  };
  const agree = compared && ((steps: unknown) => requireSameInput(steps as RebatchedSteps, compared));
  return new DistributedDataset(
    () => new RebatchedSteps(new DatasetReader(own), rebatching) as never,
    options.experimentalPerReplicaBufferSize,
    agree,
  );
}
