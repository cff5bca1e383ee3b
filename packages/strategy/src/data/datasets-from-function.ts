import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { type DatasetLike, requireDataset } from './dataset.js';
import { DatasetReader } from './dataset-reader.js';
import { DealtSteps } from './dealt-steps.js';
import { type Distributed, DistributedDataset } from './distributed-dataset.js';
import { InputContext } from './input-context.js';
import { InputOptions, type InputOptionsInit } from './input-options.js';

/** Creates the dataset of one input pipeline. Its batches must have the size for one replica. */
export type DatasetFunction<Element> = (
  context: InputContext,
) => DatasetLike<Element> | PromiseLike<DatasetLike<Element>>;

/**
 * The datasets that a function creates for a worker whose replicas are on these devices: one for
 * all replicas, or one per replica.
 * @throws ValueError for invalid options, a missing function, or a result that is not a dataset;
 * the error that the function throws
 */
export function distributeDatasetsFromFunction<Element>(
  make: DatasetFunction<Element>,
  context: InputContext,
  devices: readonly string[],
  init?: InputOptionsInit,
): DistributedDataset<Distributed<Element>> {
  const options = new InputOptions(init);
  if (typeof make !== 'function') {
    const told = `distributeDatasetsFromFunction takes a function that returns a dataset, got ${quote(make)}; pass a dataset to experimentalDistributeDataset`;
    throw new ValueError('ERR_COLL_VALUE', told);
  }
  const isPerReplica = options.experimentalReplicationMode === 'PER_REPLICA';
  const datasets = (isPerReplica ? contextsOfReplicas(context, devices.length) : [context]).map((each) => {
    const dataset = make(each);
    if (!isPromise(dataset)) requireDataset(dataset);
    // Marks a rejection as handled; it is reported when the dataset is read.
    else dataset.then(undefined, () => {});
    return dataset;
  });
  const places = devices.map((device) => (options.experimentalFetchToDevice ? device : undefined));
  return new DistributedDataset(
    () =>
      new DealtSteps(
        datasets.map((dataset) => new DatasetReader(dataset)),
        places,
      ) as never,
    options.experimentalPerReplicaBufferSize,
  );
}

/** One pipeline per replica of a worker, numbered worker by worker. */
function contextsOfReplicas(
  { numInputPipelines, inputPipelineId, numReplicasInSync }: InputContext,
  replicasPerWorker: number,
): InputContext[] {
  return Array.from({ length: replicasPerWorker }, (_, replica) => {
    return new InputContext({
      numInputPipelines: numInputPipelines * replicasPerWorker,
      inputPipelineId: inputPipelineId * replicasPerWorker + replica,
      numReplicasInSync,
    });
  });
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
