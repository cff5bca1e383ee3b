import { OutOfRangeError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { requireWhole } from './sub-batches.js';

/** The fields of an `InputContext`, all optional. */
export interface InputContextInit {
  /** Number of datasets that feed the strategy. Default: 1. */
  readonly numInputPipelines?: number;
  /** Index of this input pipeline, from 0. Default: 0. */
  readonly inputPipelineId?: number;
  /** Number of replicas of all pipelines. Default: 1. */
  readonly numReplicasInSync?: number;
}

const inputContextFields = knownOptions<InputContextInit>('InputContext', {
  numInputPipelines: true,
  inputPipelineId: true,
  numReplicasInSync: true,
});

/**
 * Identifies the input pipeline that a dataset is made for.
 *
 * @example
 * ```ts
 * import { InputContext } from '@coll/strategy';
 *
 * const context = new InputContext({ numInputPipelines: 2, numReplicasInSync: 4 });
 * console.log(context.getPerReplicaBatchSize(64)); // 16
 * ```
 */
export class InputContext {
  /** Number of datasets that feed the strategy: one per worker, or one per replica. */
  readonly numInputPipelines: number;
  /** Index of this input pipeline: 0 to `numInputPipelines - 1`. */
  readonly inputPipelineId: number;
  /** Number of replicas of all pipelines. */
  readonly numReplicasInSync: number;

  /**
   * @throws ValueError for unknown fields and counts below 1; OutOfRangeError for a pipeline out of
   * range
   */
  constructor(init?: InputContextInit) {
    const {
      numInputPipelines = 1,
      inputPipelineId = 0,
      numReplicasInSync = 1,
    } = optionsOf(init, '{ numReplicasInSync: 2 }', inputContextFields);
    requireWhole('numInputPipelines', numInputPipelines, 1);
    requireWhole('numReplicasInSync', numReplicasInSync, 1);
    if (!(Number.isInteger(inputPipelineId) && inputPipelineId >= 0 && inputPipelineId < numInputPipelines)) {
      const message = `inputPipelineId must be below the number of pipelines ${numInputPipelines}, got ${quote(inputPipelineId)}`;
      throw new OutOfRangeError(message);
    }
    this.numInputPipelines = numInputPipelines;
    this.inputPipelineId = inputPipelineId;
    this.numReplicasInSync = numReplicasInSync;
  }

  /**
   * The batch size of one replica, given the total batch size of all replicas.
   * @throws ValueError if the batch cannot be split evenly
   */
  getPerReplicaBatchSize(globalBatchSize: number): number {
    requireWhole('globalBatchSize', globalBatchSize, 0);
    if (globalBatchSize % this.numReplicasInSync === 0) return globalBatchSize / this.numReplicasInSync;
    const message = `a global batch of ${globalBatchSize} cannot be divided evenly across ${this.numReplicasInSync} replicas`;
    throw new ValueError('ERR_COLL_VALUE', `${message}: choose a multiple of ${this.numReplicasInSync}`);
  }

  /** A text such as `InputContext(input pipeline id 0, total: 1)`. */
  toString(): string {
    return `InputContext(input pipeline id ${this.inputPipelineId}, total: ${this.numInputPipelines})`;
  }
}
