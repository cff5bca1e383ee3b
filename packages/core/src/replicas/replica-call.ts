import { type CallOptions, type ResolvedOptions, resolveCallOptions } from '../call-options.js';
import { CommunicationOptions } from '../communication-options.js';
import type { RunOptions } from '../communicator.js';
import { NotImplementedError, OutOfRangeError, ValueError } from '../errors.js';
import { quote } from '../quote.js';
import { type ReduceOp, validateReduceOp } from '../reduce-op.js';
import { requireOneEach } from '../results.js';
import { IndexedSlices } from '../sparse/indexed-slices.js';
import { asValue, isIndexedSlices, type Value, viewOnDevice } from '../sparse/sparse.js';
import { flatten, formOf, type Structure } from '../structure.js';
import { asTensor, type Tensor, type TensorLike } from '../tensor.js';
import type { ArrivingValue } from './arriving-values.js';

/** What replicas hand in: tensors and indexed slices, in any structure that is the same on all of them. */
export type ReplicaValue = Structure<TensorLike | IndexedSlices>;

/** What the last argument of a call from inside a replica may be: as everywhere, and memory for the results. */
export type ReplicaCallOptions = CallOptions & {
  /** Where dense results are written, in the structure of the values; may be the values themselves. Default: new memory. */
  readonly into?: Structure<TensorLike> | undefined;
};

/** A replica's call, checked and taken apart. */
export interface PreparedCall {
  readonly values: readonly Value[];
  /** Of the structure that they were taken from. */
  readonly form: string;
  readonly into: readonly Tensor[] | undefined;
  readonly bytesPerPack: number;
  readonly deduplicate: boolean;
  readonly run: RunOptions;
  readonly resolved: ResolvedOptions;
}

/**
 * The call of a replica on a device, where its values and results are taken to be; without a device they are where they say.
 * @throws ValueError for an unknown op or a value that is no tensor
 */
export function prepare(
  op: ReduceOp,
  value: ReplicaValue,
  options: ReplicaCallOptions | undefined,
  device = '',
): PreparedCall {
  const resolved = resolveCallOptions(options as CallOptions | undefined);
  const into = options && 'into' in options ? options.into : undefined;
  if (into !== undefined && resolved.sharedResult) throw intoAndShared();
  validateReduceOp(op);
  const values = flatten(value).map((leaf) => placed(asValue(leaf), device));
  const { bytesPerPack, timeoutSeconds } = resolved.options;
  return {
    values,
    form: formOf(value),
    into: into === undefined ? undefined : into === value ? inPlace(values) : tensorsOf(into, device),
    bytesPerPack,
    deduplicate: resolved.deduplicate ?? false,
    run: resolved.signal ? { timeoutSeconds, signal: resolved.signal } : { timeoutSeconds },
    resolved,
  };
}

/** A call with values that arrive one by one. */
export interface ArrivingCall {
  readonly leaves: readonly unknown[];
  readonly bytesPerPack: number;
  readonly signal: AbortSignal | undefined;
  readonly resolved: ResolvedOptions;
  /** The value of a leaf that has come, on the device of its replica. @throws ValueError for what is no tensor */
  ready(index: number, came: unknown): Value;
  /** The options of the call that reduces these values: all of one dtype in one pack. */
  optionsFor(indices: readonly number[], values: readonly Value[]): ReplicaCallOptions;
}

/** @throws ValueError for an unknown op, bad options, or memory for another number of results, or that is named twice */
export function prepareArriving(
  op: ReduceOp,
  value: ArrivingValue,
  options: ReplicaCallOptions | undefined,
  device = '',
): ArrivingCall {
  const { into, resolved, bytesPerPack } = prepare(op, [], options, device);
  const leaves = flatten(value as Structure<unknown>);
  if (into) requireOneEach(into, leaves.length);
  const whole = new CommunicationOptions({ ...resolved.options, bytesPerPack: Number.POSITIVE_INFINITY });
  return {
    leaves,
    bytesPerPack,
    signal: resolved.signal,
    resolved,
    ready: (_, came) => placed(asValue(came), device),
    optionsFor(indices, values) {
      const call = { ...resolved, options: whole };
      if (!into) return call;
      const dense = indices.filter((_, position) => !isIndexedSlices(values[position]));
      return { ...call, into: dense.map((index) => into[index] as Tensor) };
    },
  };
}

/** The values as the memory of their results. */
function inPlace(values: readonly Value[]): readonly Tensor[] {
  return values.map((value) => ('data' in value ? value : asTensor(value, 'into')));
}

function tensorsOf(into: Structure<TensorLike>, device: string): Tensor[] {
  return flatten(into).map((leaf) => placed(asTensor(leaf, 'into'), device));
}

function placed<Kind extends Value>(value: Kind, device: string): Kind {
  return device === '' || value.device === device ? value : viewOnDevice(value, device);
}

/** The error of a call that asks for memory of its own and for shared memory at once. */
export function intoAndShared(): ValueError {
  const told =
    'into and sharedResult were both given: results are in memory of your own, or in one that all replicas share';
  return new ValueError('ERR_COLL_VALUE', told);
}

/** @throws NotImplementedError where replicas in threads of their own ask for one result for all */
export function refuseSharedResult({ resolved }: Pick<PreparedCall, 'resolved'>): void {
  if (!resolved.sharedResult) return;
  throw new NotImplementedError(
    'ERR_COLL_NOT_IMPLEMENTED',
    'sharedResult is for replicas of one thread, or ops that hold the values of all devices: in worker threads each replica has its own result; leave it out, or name memory by into',
  );
}

/** The call for values that are only moved. @throws NotImplementedError for sparse ones */
export function prepareDense(value: ReplicaValue, options: ReplicaCallOptions | undefined, device = '') {
  const call = prepare('SUM', value, options, device);
  if (call.values.some((item) => item instanceof IndexedSlices)) {
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      'indexed slices can be reduced, but not gathered or broadcast between replicas',
    );
  }
  return { ...call, values: call.values as readonly Tensor[] };
}

/** @throws OutOfRangeError for a replica that this caller does not hold */
export function requireLocal(replicaId: number, here: readonly number[]): void {
  if (here.includes(replicaId)) return;
  throw new OutOfRangeError(
    `all-reduce: replica ${quote(replicaId)} does not live here, where replica ${here.join(', ')} does`,
    { operation: 'all-reduce' },
  );
}
