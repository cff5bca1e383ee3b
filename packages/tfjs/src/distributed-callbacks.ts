import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { type ReplicaInfo, requireContext } from '@coll/strategy/internal';
import { averageStatistics } from './average-statistics.js';
import { beforeValidation } from './before-validation.js';
import { CallbackRun } from './callback-run.js';
import { requireTensorFlow, type TensorFlow, type TfModel } from './tensorflow.js';
import {
  baseCallback,
  callbackList,
  isPlain,
  type TfCallback,
  type TfCallbackClasses,
  type TfLogs,
  type TfYieldEvery,
} from './tf-callbacks.js';

/** How the callbacks of several replicas are called. */
export interface DistributedCallbacksOptions {
  /**
   * Callbacks that are called on replica 0 only, after the others: those that print or save. They
   * must not use collectives.
   */
  readonly onReplica0?: TfCallback | readonly TfCallback[] | undefined;
  /**
   * Metrics that callbacks get at the end of a batch: 'local' are those of this replica's part,
   * 'mean' the mean of all replicas, which costs two small all-reduces per batch. Default: 'local'.
   */
  readonly batchLogs?: 'local' | 'mean' | undefined;
  /**
   * The number of rows that this replica validates on, `rowsOf(share)`, if each replica validates on
   * its own share. `fit` then validates on the first of these rows, without a repeated one, and the
   * metrics of validation (`val_…`) are averaged. More rows than `fit` validates on are an error, for
   * example `rowsOf(share)` with a `validationSplit`, which takes only a part of it. Default: all replicas validate on the same data,
   * which is checked.
   */
  readonly validationRows?: number | undefined;
  /** The training ends on all replicas after the step in which this many seconds are over. Default: no limit. */
  readonly maxSeconds?: number | undefined;
  /**
   * Whether SIGTERM ends the training on all replicas after the next step, instead of the process that
   * gets it. The program then goes on after `fit`, and can save the model. A process
   * that gets its first SIGTERM after this end goes on, too; a second one ends it. Default: false.
   */
  readonly stopOnSigterm?: boolean | undefined;
  /** When plain callbacks yield to other work of the thread, as in `fit`. Default: 'auto', every 125 ms. */
  readonly yieldEvery?: TfYieldEvery | undefined;
  /** Maximum seconds to wait for the other replicas. Default: no limit. */
  readonly timeoutSeconds?: number | undefined;
}

const distributedCallbacksOptions = knownOptions<DistributedCallbacksOptions>('distributedCallbacks', {
  onReplica0: true,
  batchLogs: true,
  validationRows: true,
  maxSeconds: true,
  stopOnSigterm: true,
  yieldEvery: true,
  timeoutSeconds: true,
});

/**
 * The callbacks of one replica, to pass to `fit` and `fitDataset`. In a loop of its own, a program
 * calls the methods itself.
 */
export interface DistributedCallbacks {
  /**
   * Whether all replicas end the training now, which loops of their own must do. Set to true, it ends
   * the training after the next step, or at the end of the epoch, on all replicas.
   */
  stopTraining: boolean;
  /** Passes the model to the callbacks, of which some need it, such as `tf.callbacks.earlyStopping`. */
  setModel(model: object): void;
  /** Passes the parameters of `fit` to the callbacks. Loops of their own do not call it. */
  setParams(params: object): void;
  /** Begins the training: no replica wants to stop. */
  onTrainBegin(logs?: TfLogs): Promise<void>;
  /** Ends the training. */
  onTrainEnd(logs?: TfLogs): Promise<void>;
  /** Begins an epoch. */
  onEpochBegin(epoch: number, logs?: TfLogs): Promise<void>;
  /** Ends an epoch: replaces the metrics in `logs` by those of all replicas. All replicas call it. */
  onEpochEnd(epoch: number, logs?: TfLogs): Promise<void>;
  /** Begins a step. `logs.size` is the number of samples in this replica's part of the batch. */
  onBatchBegin(batch: number, logs?: TfLogs): Promise<void>;
  /** Ends a step. `logs` contains the loss and other metrics of this replica's part of the batch. */
  onBatchEnd(batch: number, logs?: TfLogs): Promise<void>;
}

/**
 * Makes one callback for `fit` and `fitDataset` that calls the given ones, so that they see the
 * training of all replicas. Each replica calls this function, and passes nothing else as `callbacks`.
 *
 * Metrics of an epoch are means over all replicas, weighted by their rows, before any callback sees
 * them; `history` contains these means. Metrics of validation are not averaged, because all replicas
 * validate on the same data, unless the option `validationRows` is given. Before `fit` validates, moving
 * statistics, such as those of batch normalisation, are averaged as by `averageStatistics`.
 *
 * If a callback of any replica sets `model.stopTraining`, `maxSeconds` are over, or a process gets SIGTERM
 * with the option `stopOnSigterm`, all replicas end
 * the training after the same step: at the end of the epoch if it was set there, and after the next
 * step if it was set in a batch. A setting of the optimizer, such as the learning rate, that a
 * callback changes on some replicas only changes on all of them before the next step of
 * `distributedOptimizer`; if several replicas differ, those of the first one that changed them count.
 *
 * In a loop of its own, the program calls the methods, and reads `stopTraining`. The metrics of an
 * epoch are then the means of those that `onBatchEnd` got, weighted by `size`, unless it passes
 * others. Tensors in logs are replaced by their values and disposed.
 *
 * @throws ValueError for arguments of a wrong type. At the end of an epoch InvalidArgumentError or
 * ValueError, the same on all replicas, if they have different metrics, or if metrics of validation
 * differ and `validationRows` is not given
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { distributedCallbacks, distributedOptimizer } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const epochs: number[] = [];
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [1], units: 1 })] });
 *   model.compile({ optimizer: distributedOptimizer(tf, tf.train.sgd(0), replica), loss: 'meanSquaredError' });
 *   const note = { onEpochEnd: (epoch: number) => void epochs.push(epoch) };
 *   await model.fit(tf.ones([4, 1]), tf.ones([4, 1]), {
 *     epochs: 9,
 *     verbose: 0,
 *     callbacks: distributedCallbacks(tf, tf.callbacks.earlyStopping({ monitor: 'loss' }), replica, {
 *       onReplica0: note,
 *     }),
 *   });
 * });
 * console.log(epochs); // [ 0, 1 ]
 * ```
 */
export function distributedCallbacks(
  tf: TensorFlow & TfCallbackClasses,
  callbacks: TfCallback | readonly TfCallback[],
  context: ReplicaInfo & Pick<ReplicaContext, 'allReduce' | 'allReduceSync'>,
  options?: DistributedCallbacksOptions,
): DistributedCallbacks {
  requireTensorFlow(tf, 'distributedCallbacks');
  requireCallbacks(callbacks, 'callbacks');
  requireContext(context, 'allReduce', 'distributedCallbacks');
  const { onReplica0 = [], batchLogs = 'local', yieldEvery, ...given } = checkedOptions(options);
  const all = [callbacks, context.replicaIdInSyncGroup === 0 ? onReplica0 : []].flat() as TfCallback[];
  const run = new CallbackRun(context, {
    // `fit` without callbacks yields, too.
    callbacks: callbackList(tf, all.length === 0 ? [{}] : all, yieldEvery),
    averageStatistics: (model) => averageStatistics(tf, model as TfModel, context),
    beforeValidation: (model, prepare) => beforeValidation(tf, model, prepare),
    isPlain: (callback) => isPlain(tf, callback),
    batchLogs,
    validationRows: given.validationRows,
    maxSeconds: given.maxSeconds ?? Number.POSITIVE_INFINITY,
    stopOnSigterm: given.stopOnSigterm ?? false,
    timeoutSeconds: given.timeoutSeconds,
  });
  return asCallback(run, baseCallback(tf) ?? Object);
}

/** An object of the class of which `fit` takes callbacks as they are. */
function asCallback(run: CallbackRun, Base: new () => object): DistributedCallbacks {
  const methods: Omit<DistributedCallbacks, 'stopTraining'> = {
    setModel: (model) => run.setModel(model),
    setParams: (params) => run.setParams(params),
    onTrainBegin: (logs = {}) => run.onTrainBegin(logs),
    onTrainEnd: (logs = {}) => run.onTrainEnd(logs),
    onEpochBegin: (epoch, logs = {}) => run.onEpochBegin(epoch, logs),
    onEpochEnd: (epoch, logs = {}) => run.onEpochEnd(epoch, logs),
    onBatchBegin: (batch, logs = {}) => run.onBatchBegin(batch, logs),
    onBatchEnd: (batch, logs = {}) => run.onBatchEnd(batch, logs),
  };
  return Object.defineProperty(Object.assign(new Base(), methods), 'stopTraining', {
    get: () => run.stopTraining,
    set: (stop: boolean) => {
      run.stopTraining = stop;
    },
  }) as DistributedCallbacks;
}

/** @throws ValueError for an option of a wrong name or value */
function checkedOptions(options: DistributedCallbacksOptions | undefined): DistributedCallbacksOptions {
  const given = optionsOf(options, '{ maxSeconds: 600 }', distributedCallbacksOptions);
  const { onReplica0 = [], batchLogs = 'local', validationRows = 0, maxSeconds = 1, stopOnSigterm = false } = given;
  requireCallbacks(onReplica0, 'onReplica0');
  if (batchLogs !== 'local' && batchLogs !== 'mean')
    throw wrong(`batchLogs must be 'local' or 'mean', got ${quote(batchLogs)}`);
  if (!Number.isInteger(validationRows) || validationRows < 0)
    throw wrong(
      `validationRows must be the number of rows that this replica validates on, got ${quote(validationRows)}`,
    );
  if (typeof maxSeconds !== 'number' || !(maxSeconds > 0))
    throw wrong(`maxSeconds must be a positive number, got ${quote(maxSeconds)}`);
  if (typeof stopOnSigterm !== 'boolean') throw wrong(`stopOnSigterm must be a boolean, got ${quote(stopOnSigterm)}`);
  return given;
}

function requireCallbacks(callbacks: unknown, name: string): void {
  for (const callback of Array.isArray(callbacks) ? callbacks : [callbacks]) {
    if (typeof callback === 'object' && callback !== null) continue;
    throw wrong(`${name} must be a callback of TensorFlow.js or a list of callbacks, got ${quote(callback)}`);
  }
}

function wrong(message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `distributedCallbacks: ${message}`);
}
