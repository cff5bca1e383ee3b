import type { TfTensor } from './tensorflow.js';

/** Metrics by name. Before the values have been read, they may be tensors. */
export type TfLogs = Record<string, number | TfTensor>;

/** When a training of TensorFlow.js yields to other work of its thread, as `yieldEvery` of `fit`. */
export type TfYieldEvery = 'auto' | 'batch' | 'epoch' | 'never' | number;

/** A callback of TensorFlow.js: an object with some of these methods, or a `tf.Callback`. */
export interface TfCallback {
  /** Called by `fit` before the training, with the model. */
  setModel?(model: object): void;
  /** Called by `fit` before the training, with its parameters, such as `epochs`. */
  setParams?(params: object): void;
  /** Called before the first epoch. */
  onTrainBegin?(logs: Record<string, number>): unknown;
  /** Called after the last epoch. */
  onTrainEnd?(logs: Record<string, number>): unknown;
  /** Called before each epoch. */
  onEpochBegin?(epoch: number, logs: Record<string, number>): unknown;
  /** Called after each epoch, with the metrics of all replicas. */
  onEpochEnd?(epoch: number, logs: Record<string, number>): unknown;
  /** Called before each step. */
  onBatchBegin?(batch: number, logs: Record<string, number>): unknown;
  /** Called after each step, with the metrics of this replica. */
  onBatchEnd?(batch: number, logs: Record<string, number>): unknown;
  /** Called when a plain callback yields, see `yieldEvery` of `fit`. */
  onYield?(epoch: number, batch: number, logs: Record<string, number>): unknown;
  /** The clock for `yieldEvery`. */
  nowFunc?: unknown;
  /** The function that yields. */
  nextFrameFunc?: unknown;
}

/** The classes of TensorFlow.js for callbacks, which `@tensorflow/tfjs-core` does not have. */
export interface TfCallbackClasses {
  /** The class of callbacks that need the model. */
  readonly Callback?: object;
  /** The class of callbacks that are plain objects. */
  readonly CustomCallback?: new (
    args: never,
    yieldEvery?: TfYieldEvery,
  ) => object;
}

/**
 * The base class of all callbacks, of which `fit` calls the methods as they are; undefined in
 * `@tensorflow/tfjs-core`. TensorFlow.js exports its subclasses only.
 */
export function baseCallback({ Callback }: TfCallbackClasses): (new () => object) | undefined {
  return Callback && (Object.getPrototypeOf(Callback) as new () => object);
}

/**
 * The callbacks as a list, as `fit` would call them. A plain object is followed by a callback that
 * yields, if there is a class for it.
 */
export function callbackList(
  tf: TfCallbackClasses,
  callbacks: TfCallback | readonly TfCallback[],
  yieldEvery: TfYieldEvery | undefined,
): TfCallback[] {
  const list = Array.isArray(callbacks) ? callbacks : [callbacks];
  return list.flatMap((callback: TfCallback) => {
    if (!isPlain(tf, callback) || !tf.CustomCallback) return callback;
    const { onYield, nowFunc, nextFrameFunc } = callback;
    return [callback, new tf.CustomCallback({ onYield, nowFunc, nextFrameFunc } as never, yieldEvery)];
  });
}

/** Whether `fit` would read the values of tensors in logs before it calls a method. */
export function isPlain(tf: TfCallbackClasses, callback: TfCallback): boolean {
  const Base = baseCallback(tf);
  return Base === undefined || !(callback instanceof Base);
}

/** Replaces the tensors in logs by their values, and frees them. */
export async function readLogs(logs: TfLogs): Promise<Record<string, number>> {
  for (const [name, value] of Object.entries(logs)) {
    if (typeof Object(value).dispose !== 'function') continue;
    const scalar = value as TfTensor;
    const [number] = await scalar.data();
    scalar.dispose();
    logs[name] = Number(number);
  }
  return logs as Record<string, number>;
}

/** The number of steps of an epoch, from the parameters that `fit` passes to callbacks; undefined if it is not known. */
export function stepsPerEpochOf(params: object): number | undefined {
  const { steps, samples, batchSize } = params as { readonly [name: string]: unknown };
  if (typeof steps === 'number') return steps;
  return typeof samples === 'number' && typeof batchSize === 'number' ? Math.ceil(samples / batchSize) : undefined;
}
