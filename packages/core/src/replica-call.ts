import { type CallOptions, type ResolvedOptions, resolveCallOptions } from './call-options.js';
import type { RunOptions } from './communicator.js';
import { NotImplementedError, OutOfRangeError, ValueError } from './errors.js';
import { IndexedSlices } from './indexed-slices.js';
import { type ReduceOp, validateReduceOp } from './reduce-op.js';
import { asValue, type Value, viewOnDevice } from './sparse.js';
import { flatten, type Structure } from './structure.js';
import { asTensor, type Tensor, type TensorLike } from './tensor.js';

/** What replicas hand in: tensors and indexed slices, in any structure that is the same on all of them. */
export type ReplicaValue = Structure<TensorLike | IndexedSlices>;

export type ReplicaCallOptions = CallOptions & {
  /** Where dense results are written, in the structure of the values; may be the values themselves. Default: new memory. */
  readonly into?: Structure<TensorLike> | undefined;
};

/** A replica's call, checked and taken apart. */
export interface PreparedCall {
  readonly values: readonly Value[];
  readonly into: readonly Tensor[] | undefined;
  readonly bytesPerPack: number;
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
  const into = options && 'into' in options ? options.into : undefined;
  const resolved = resolveCallOptions(options as CallOptions | undefined);
  if (into !== undefined && resolved.sharedResult) throw intoAndShared();
  validateReduceOp(op);
  const values = flatten(value).map((leaf) => placed(asValue(leaf), device));
  const { bytesPerPack, timeoutSeconds } = resolved.options;
  return {
    values,
    into: into === undefined ? undefined : into === value ? inPlace(values) : tensorsOf(into, device),
    bytesPerPack,
    run: resolved.signal ? { timeoutSeconds, signal: resolved.signal } : { timeoutSeconds },
    resolved,
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

export function intoAndShared(): ValueError {
  const told =
    'into and sharedResult were both given: results are in memory of your own, or in one that all replicas share';
  return new ValueError('ERR_COLL_VALUE', told);
}

/** @throws NotImplementedError where replicas in threads of their own ask for one result for all */
export function refuseSharedResult({ resolved }: PreparedCall): void {
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
    `all-reduce: replica ${replicaId} does not live here, where replica ${here.join(', ')} does`,
    { operation: 'all-reduce' },
  );
}
