import { type CollError, InvalidArgumentError, ValueError } from '@coll/core';
import { endRequestsOf } from '@coll/core/internal';
import {
  type AsyncReducer,
  type Exchange,
  exchange,
  type ReplicaInfo,
  type TrainingSummary,
  trainingMeterOf,
} from '@coll/strategy/internal';
import { type CommonMetrics, commonMetrics, type OwnMetrics } from './common-metrics.js';
import { OptimizerSettings } from './optimizer-state.js';
import { type PresentStep, presentStepOf } from './present-step.js';
import { shareSettings } from './shared-settings.js';
import type { TfOptimizer } from './tensorflow.js';
import { readLogs, type TfCallback, type TfLogs } from './tf-callbacks.js';

/** How callbacks of several replicas are called. */
export interface CallbackSettings {
  /** The callbacks of this replica, in order. */
  readonly callbacks: readonly TfCallback[];
  /** Whether a callback gets numbers instead of tensors. */
  readonly isPlain: (callback: TfCallback) => boolean;
  /** Averages moving statistics of the model over all replicas. */
  readonly averageStatistics: (model: object) => void;
  /** Calls a function before each validation of the model, which returns the number of rows to validate on. */
  readonly beforeValidation: (model: object, prepare: () => number | undefined) => void;
  readonly batchLogs: 'local' | 'mean';
  readonly validationRows: number | undefined;
  readonly maxSeconds: number;
  /** Whether SIGTERM ends the training instead of the process. */
  readonly stopOnSigterm: boolean;
  readonly timeoutSeconds: number | undefined;
}

type StepMethod = 'onEpochBegin' | 'onEpochEnd' | 'onBatchBegin' | 'onBatchEnd';

interface TrainedModel {
  stopTraining?: boolean;
  readonly optimizer?: TfOptimizer;
}

/** One training of one replica, as its callbacks see it. */
export class CallbackRun {
  readonly #context: ReplicaInfo & AsyncReducer;
  readonly #settings: CallbackSettings;
  readonly #present: PresentStep;
  readonly #means = new RunningMeans();
  /** Whether `fit` may validate now, so that all replicas do, and none of them has. */
  #mayValidate = false;
  #model: TrainedModel | undefined;
  /** The model of the program, if it is another object. */
  #given: TrainedModel | undefined;
  /** The settings of the model's optimizer; undefined if it has none. */
  #optimizer: OptimizerSettings | undefined;
  /** Whether TensorFlow.js makes the calls, which then also computes the metrics of epochs. */
  #isFit = false;
  #beginning = performance.now();
  /** Rows of this replica in the present epoch; undefined if not known. */
  #rows: number | undefined;

  constructor(context: ReplicaInfo & AsyncReducer, settings: CallbackSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#present = presentStepOf(context);
  }

  /** Whether all replicas end the training now. Setting it expresses the wish of this replica. */
  get stopTraining(): boolean {
    return this.#present.stops;
  }

  set stopTraining(stop: boolean) {
    if (this.#isAlone) this.#present.stops = stop;
    else this.#present.wantsStop = stop;
  }

  setModel(model: object): void {
    // A Sequential model refuses `stopTraining` unless it is compiled, which a loop of its own need not do.
    const seen = this.#isFit ? model : Object.create(model, { stopTraining: { value: false, writable: true } });
    this.#model = seen as { stopTraining: boolean };
    this.#given = this.#isFit ? undefined : model;
    this.#settings.beforeValidation(model, () => {
      if (!this.#mayValidate || this.#isAlone) return undefined;
      this.#mayValidate = false;
      this.#settings.averageStatistics(model);
      return this.#settings.validationRows;
    });
    for (const callback of this.#settings.callbacks) callback.setModel?.(seen);
  }

  setParams(params: object): void {
    this.#isFit = true;
    for (const callback of this.#settings.callbacks) callback.setParams?.(params);
  }

  async onTrainBegin(logs: TfLogs): Promise<void> {
    this.#beginning = performance.now();
    Object.assign(this.#present, {
      logs: undefined,
      wantsStop: false,
      wasAsked: false,
      stops: false,
      wereAsked: false,
      epoch: undefined,
      sharesSettings: true,
    });
    trainingMeterOf(this.#context).restart();
    const { optimizer } = this.#model ?? {};
    this.#optimizer = optimizer && new OptimizerSettings(optimizer);
    if (this.#settings.stopOnSigterm) endRequestsOf(this.#context).accept();
    for (const callback of this.#settings.callbacks) await callback.onTrainBegin?.(await readLogs(logs));
    // `fit` forgets stops that a callback asks for before the first epoch.
    if (this.#model) this.#model.stopTraining = false;
  }

  async onTrainEnd(logs: TfLogs): Promise<void> {
    Object.assign(this.#present, { logs: undefined, wantsStop: false, wasAsked: false, sharesSettings: false });
    if (this.#settings.stopOnSigterm) this.#refuseRequests();
    for (const callback of this.#settings.callbacks) await callback.onTrainEnd?.(await readLogs(logs));
    // `fit` sets parameters before each training.
    this.#isFit = false;
  }

  async onEpochBegin(epoch: number, logs: TfLogs): Promise<void> {
    this.#rows = undefined;
    this.#means.restart();
    await this.#callAll('onEpochBegin', epoch, logs);
  }

  async onBatchBegin(batch: number, logs: TfLogs): Promise<void> {
    this.#present.logs = logs as { size?: number };
    this.#mayValidate = false;
    try {
      await this.#callAll('onBatchBegin', batch, logs);
    } catch (error) {
      // A later step, without callbacks, must not take this size.
      this.#present.logs = undefined;
      throw error;
    }
    // In the last step of an epoch, `fit` validates before it ends the step.
    this.#mayValidate = this.#isFit;
  }

  async onBatchEnd(batch: number, logs: TfLogs): Promise<void> {
    if (!this.#isFit && !this.#model && 'batch' in logs) throw otherTensorFlow();
    const size = (logs['size'] ?? this.#present.logs?.size) as number | undefined;
    this.#present.logs = undefined;
    this.#mayValidate = false;
    // The step has compared the settings.
    this.#optimizer?.noteCurrent();
    if (size !== undefined) this.#rows = (this.#rows ?? 0) + size;
    if (!this.#isFit) this.#means.add(metricsOf(await readLogs(logs)), size);
    if (this.#settings.batchLogs === 'mean') await this.#average(`batch ${batch}`, logs, size);
    await this.#callAll('onBatchEnd', batch, logs);
    this.#endIfAllStop();
    // `fitDataset` validates after the last step.
    this.#mayValidate = this.#isFit;
  }

  async onEpochEnd(epoch: number, logs: TfLogs): Promise<void> {
    this.#mayValidate = false;
    if (!this.#isFit) this.#means.complete(logs);
    const { stops = false, rows = this.#rows } = (await this.#average(`epoch ${epoch}`, logs, this.#rows)) ?? {};
    this.#present.epoch = { rows, summary: await this.#summary() };
    await this.#callAll('onEpochEnd', epoch, logs);
    if (stops) this.#present.stops = true;
    if (!this.#isAlone) await this.#exchange(this.#agree());
    this.#endIfAllStop();
  }

  #refuseRequests(): void {
    const requests = endRequestsOf(this.#context);
    // Processes of one job get SIGTERM at different times, those of several hosts seconds apart.
    if (this.#present.wereAsked) requests.expect();
    requests.refuse();
  }

  get #isAlone(): boolean {
    return this.#context.numReplicasInSync === 1;
  }

  async #callAll(method: StepMethod, index: number, logs: TfLogs): Promise<void> {
    this.#noteWish();
    for (const callback of this.#settings.callbacks) {
      if (!callback[method]) continue;
      if (this.#settings.isPlain(callback)) await readLogs(logs);
      await callback[method](index, logs as Record<string, number>);
    }
    this.#noteWish();
  }

  /**
   * Takes back a stop that the program asked for, until all replicas know of it. If not, this
   * replica would end while the others wait for it.
   */
  #noteWish(): void {
    const { maxSeconds, stopOnSigterm } = this.#settings;
    if (performance.now() - this.#beginning > 1000 * maxSeconds) this.stopTraining = true;
    if (stopOnSigterm && endRequestsOf(this.#context).isPending) {
      this.#present.wasAsked = true;
      this.stopTraining = true;
    }
    if (this.#present.stops) return;
    for (const model of [this.#model, this.#given]) {
      if (!model || !isStopped(model)) continue;
      model.stopTraining = false;
      this.stopTraining = true;
    }
  }

  #endIfAllStop(): void {
    if (this.#present.stops && this.#model) this.#model.stopTraining = true;
  }

  /** Replaces the metrics in logs by those of all replicas. Returns undefined for a single replica. */
  async #average(of: string, logs: TfLogs, rows: number | undefined): Promise<CommonMetrics | undefined> {
    const metrics = metricsOf(await readLogs(logs));
    if (this.#isAlone) return undefined;
    const { validationRows } = this.#settings;
    const own: OwnMetrics = { of, metrics, rows, validationRows, wantsStop: this.#present.wantsStop };
    const common = await this.#exchange(commonMetrics(own, this.#context));
    Object.assign(logs, common.metrics);
    return common;
  }

  async #summary(): Promise<TrainingSummary | undefined> {
    return this.#isAlone ? undefined : this.#exchange(trainingMeterOf(this.#context).summary(this.#context));
  }

  /** Shares what callbacks of any replica decided at the end of an epoch. */
  *#agree(): Exchange<void> {
    const hash = this.#optimizer?.hash ?? 0;
    const { wantsStop: wants, wasAsked } = this.#present;
    const extremes = Float64Array.of(wants ? 1 : 0, wasAsked ? 1 : 0, hash, -hash);
    yield { op: 'max', values: [extremes], into: [extremes] };
    const [wantsStop, areAsked, most, leastNegated] = extremes as unknown as [number, number, number, number];
    if (wantsStop !== 0) this.#present.stops = true;
    if (areAsked !== 0) this.#present.wereAsked = true;
    // Settings that still differ are an error of the next step.
    if (most !== -leastNegated && this.#optimizer) yield* shareSettings(this.#optimizer, this.#context, true);
  }

  #exchange<Result>(steps: Exchange<Result>): Promise<Result> {
    const { timeoutSeconds } = this.#settings;
    return exchange(steps, explaining(this.#context), { timeoutSeconds });
  }
}

/** Whether `stopTraining` of a model was set. A Sequential model that is not compiled throws. */
function isStopped(model: TrainedModel): boolean {
  try {
    return model.stopTraining === true;
  } catch {
    return false;
  }
}

/** The error for callbacks that `fit` does not know as such, so that they would not see the model. */
function otherTensorFlow(): ValueError {
  const message =
    'tf must be the TensorFlow.js that made the model, with the class tf.Callback, as `import * as tf from ' +
    "'@tensorflow/tfjs'`; in a loop of your own, leave `batch` out of the logs";
  return new ValueError('ERR_COLL_VALUE', `distributedCallbacks: ${message}`);
}

/** The numbers in logs that are metrics. */
function metricsOf(logs: Readonly<Record<string, number>>): Record<string, number> {
  const isMetric = ([name, value]: [string, unknown]) =>
    typeof value === 'number' && name !== 'size' && name !== 'batch';
  return Object.fromEntries(Object.entries(logs).filter(isMetric));
}

/** Means of the metrics of batches, weighted by their size. */
class RunningMeans {
  readonly #sums = new Map<string, { sum: number; weight: number }>();

  restart(): void {
    this.#sums.clear();
  }

  add(metrics: Readonly<Record<string, number>>, size = 1): void {
    if (size === 0) return;
    for (const [name, value] of Object.entries(metrics)) {
      const { sum, weight } = this.#sums.get(name) ?? { sum: 0, weight: 0 };
      this.#sums.set(name, { sum: sum + value * size, weight: weight + size });
    }
  }

  /** Adds the means that logs do not have. */
  complete(logs: TfLogs): void {
    for (const [name, { sum, weight }] of this.#sums) logs[name] ??= sum / weight;
  }
}

/** All-reduces whose errors say what to do if replicas make different numbers of steps. */
function explaining(context: AsyncReducer): AsyncReducer {
  const allReduce = async (...call: Parameters<AsyncReducer['allReduce']>) => {
    try {
      return await context.allReduce(...call);
    } catch (error) {
      const { code, message, rank } = error as Partial<CollError>;
      if (code !== 'ERR_COLL_MISMATCH') throw error;
      const advice =
        'all replicas must make the same number of steps in each epoch, and all must use distributedCallbacks';
      throw new InvalidArgumentError('ERR_COLL_MISMATCH', `${message}; ${advice}`, { rank, cause: error });
    }
  };
  return { allReduce } as AsyncReducer;
}
