import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { CommonSteps } from './common-steps.js';
import { type DatasetLike, requireDataset } from './dataset.js';
import { DatasetReader } from './dataset-reader.js';
import { DealtSteps } from './dealt-steps.js';
import { type Distributed, DistributedDataset } from './distributed-dataset.js';
import { EmptySteps } from './empty-steps.js';
import { InputContext } from './input-context.js';
import { InputOptions, type InputOptionsInit } from './input-options.js';
import type { Readers } from './readers.js';

/** Creates the dataset of one input pipeline. Its batches must have the size for one replica. */
export type DatasetFunction<Element> = (
  context: InputContext,
) => DatasetLike<Element> | PromiseLike<DatasetLike<Element>>;

/**
 * The datasets that a function creates for a worker whose replicas are on these devices: one for
 * all replicas, or one per replica. `others` are the workers. Default: they do not meet.
 * @throws ValueError for invalid options, a missing function, or a result that is not a dataset;
 * the error that the function throws
 */
export function distributeDatasetsFromFunction<Element>(
  make: DatasetFunction<Element>,
  context: InputContext,
  devices: readonly string[],
  init?: InputOptionsInit,
  others?: Readers,
): DistributedDataset<Distributed<Element>> {
  const options = new InputOptions(init);
  if (typeof make !== 'function') {
    const message = `distributeDatasetsFromFunction takes a function that returns a dataset, got ${quote(make)}; pass a dataset to experimentalDistributeDataset`;
    throw new ValueError('ERR_COLL_VALUE', message);
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
  const { numInputPipelines: count, inputPipelineId: index } = context;
  const begin = () => {
    const readers = datasets.map((dataset) => new DatasetReader(dataset));
    if (!others || count === 1) return { steps: new DealtSteps(readers, places) };
    const empty = new EmptySteps(places);
    const { equalSteps } = options;
    const agreement = new CommonSteps({ readers: others, count, index, empty, equalSteps });
    return { steps: new DealtSteps(readers, places, empty), agreement };
  };
  return new DistributedDataset(begin as never, options.experimentalPerReplicaBufferSize);
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
