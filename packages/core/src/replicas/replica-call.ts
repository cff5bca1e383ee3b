import { lostBufferError } from '../collectives/call-errors.js';
import type { Purpose } from '../collectives/caller-request.js';
import { collectiveOp, refusedArithmetic, refusedSparse } from '../collectives/collective.js';
import { CommunicationOptions } from '../collectives/communication-options.js';
import { type ReduceOp, validateReduceOp } from '../collectives/reduce-op.js';
import { requireAxis } from '../kernels/concat-along.js';
import {
  type CallOptions,
  intoAndShared,
  optionsAt,
  type ResolvedOptions,
  requireNameEach,
  resolveCallOptions,
  resolveWithoutInto,
} from '../runtime/call-options.js';
import { asValue, isIndexedSlices, viewOnDevice } from '../sparse/sparse.js';
import { OutOfRangeError } from '../support/built-in-errors.js';
import { NotImplementedError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { asGiven, isGivenOtherwise } from '../values/array-kinds.js';
import { hasLength } from '../values/has-length.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { flatten, formOf, packLike, type Structure } from '../values/structure.js';
import { asMemory, elementCount, type Tensor, type TensorLike } from '../values/tensor.js';
import type { ArrivingValue } from './arriving-values.js';
import type { ReplicaRequest } from './batch.js';
import { requireOneEach, resultsFor, writtenTo } from './results.js';

/** A replica's value: tensors and indexed slices in any structure, the same on all replicas. */
export type ReplicaValue = Structure<TensorLike | IndexedSlices>;

/** The last argument of a call from inside a replica: the usual options, plus memory for the results. */
export type ReplicaCallOptions = CallOptions & {
  /**
   * Memory for dense results, in the structure of the values; may be the values themselves.
   * Default: new memory.
   */
  readonly into?: Structure<TensorLike> | undefined;
};

/** A replica's call, validated and flattened before it is compared with those of other replicas. */
export interface ReplicaCall {
  readonly request: ReplicaRequest;
  /** A description of the request; the same on all replicas. */
  readonly name: string;
  /** The leaves of the values' structure from left to right, on the replica's device. */
  readonly values: readonly Value[];
  /** A description of the values' structure. */
  readonly form: string;
  /** Validated memory for the dense results. */
  readonly into: readonly Tensor[] | undefined;
  readonly announced?: readonly number[] | undefined;
  /** What the call is for, if the library makes it for itself. Calls for different purposes never match. */
  readonly purpose?: Purpose | undefined;
  readonly options: ResolvedOptions;
  /** Writes the results to `into`, if given, and packs them into the structure of the values. */
  finish(results: readonly Value[]): Structure<Value>;
}

/** A prepared call, and the index of its replica among the local ones. */
export interface GroupCall {
  readonly index: number;
  readonly call: ReplicaCall;
}

/**
 * Prepares the all-reduce of a replica. Values and results are on `device`; '' means the devices
 * that the values state.
 * @throws ValueError for an unknown op, a value that is not a tensor or that the op does not
 * support, invalid options and memory
 */
export function reduceCall(
  op: ReduceOp,
  value: ReplicaValue,
  options: ReplicaCallOptions | undefined,
  device: string,
): ReplicaCall {
  const { into, resolved } = resolve(options);
  validateReduceOp(op);
  const values = valuesOf(value, device);
  requireReducible(op, values);
  if (resolved.names) requireNameEach(resolved, values.length);
  const name = `all-reduce ${op}${resolved.deduplicate ? ' with deduplicate' : ''}`;
  return callOf({ kind: 'all-reduce', op }, name, value, values, into, resolved, device);
}

/**
 * Prepares the all-gather of a replica.
 * @throws NotImplementedError for sparse values; ValueError and OutOfRangeError for invalid values,
 * axes and options
 */
export function gatherCall(
  value: ReplicaValue,
  axis: number,
  options: CallOptions | undefined,
  device: string,
): ReplicaCall {
  const resolved = resolveWithoutInto(options);
  const values = denseValues('all-gather', value, device);
  for (const { shape } of values) requireAxis(axis, shape);
  return callOf(
    { kind: 'all-gather', axis },
    `all-gather along axis ${quote(axis)}`,
    value,
    values,
    undefined,
    resolved,
    device,
  );
}

/**
 * Prepares the broadcast of a replica.
 * @throws the errors of `gatherCall`; ValueError for a root that is not a replica, and for invalid
 * memory
 */
export function broadcastCall(
  value: ReplicaValue,
  root: number,
  size: number,
  options: ReplicaCallOptions | undefined,
  device: string,
): ReplicaCall {
  requireRoot(root, size);
  const { into, resolved } = resolve(options);
  const values = denseValues('broadcast', value, device);
  requireNameEach(resolved, values.length);
  return callOf({ kind: 'broadcast', root }, `broadcast from replica ${root}`, value, values, into, resolved, device);
}

/** @throws NotImplementedError for indexed slices, which can only be reduced */
export function requireDense(values: readonly unknown[], operation: string): asserts values is readonly Tensor[] {
  if (!values.some((value) => value instanceof IndexedSlices)) return;
  throw new NotImplementedError(
    'ERR_COLL_NOT_IMPLEMENTED',
    `${operation} does not support indexed slices: reduce them, or make them dense first`,
    { operation },
  );
}

/** A call with values that arrive one by one. */
export interface ArrivingCall {
  readonly leaves: readonly unknown[];
  readonly bytesPerPack: number;
  readonly signal: AbortSignal | undefined;
  /** Moves a value to the replica's device once the value has arrived. @throws ValueError unless it is a tensor */
  ready(index: number, came: unknown): Value;
  /** Prepares the all-reduce of the values at these indices, with one pack per dtype. */
  callFor(indices: readonly number[], values: readonly Value[]): ReplicaCall;
}

/**
 * Prepares the all-reduce of values that arrive one by one.
 * @throws ValueError for an unknown op, invalid options, or memory that is used twice or for a
 * different number of results
 */
export function arrivingCall(
  op: ReduceOp,
  value: ArrivingValue,
  options: ReplicaCallOptions | undefined,
  device: string,
): ArrivingCall {
  const { into, resolved } = resolve(options);
  validateReduceOp(op);
  const leaves = flatten(value as Structure<unknown>);
  requireNameEach(resolved, leaves.length);
  const memory = into === undefined ? undefined : tensorsOf(into, device);
  if (memory) requireOneEach(memory, leaves.length);
  const whole = new CommunicationOptions({ ...resolved.options, bytesPerPack: Number.MAX_SAFE_INTEGER });
  return {
    leaves,
    bytesPerPack: resolved.options.bytesPerPack,
    signal: resolved.signal,
    ready: (_, came) => placed(asValue(came), device),
    callFor(indices, values) {
      const dense = indices.filter((_, position) => !isIndexedSlices(values[position]));
      const own = memory && { into: dense.map((index) => memory[index] as Tensor) };
      const { names } = optionsAt(indices, resolved);
      const call = reduceCall(op, values, { ...resolved, options: whole, names, ...own }, device);
      const name = `${call.name} of values ${indices.join(', ')} of ${leaves.length}`;
      return { ...call, name, announced: [leaves.length, ...indices] };
    },
  };
}

function callOf(
  request: ReplicaRequest,
  name: string,
  value: ReplicaValue,
  values: readonly Value[],
  into: Structure<TensorLike> | undefined,
  options: ResolvedOptions,
  device: string,
): ReplicaCall {
  const memory = into === undefined ? undefined : memoryFor(request, values, into === value ? undefined : into, device);
  // Memory for results determines the kinds of their arrays.
  const sources = memory ? [] : values;
  const isOther = (memory ?? values).some(isGivenOtherwise);
  return {
    request,
    name,
    values,
    form: formOf(value),
    into: memory,
    options,
    finish: (results) => {
      const written = writtenTo(memory, results, values);
      return packLike(value, isOther ? written.map((result, index) => asGiven(result, sources[index])) : written);
    },
  };
}

/**
 * Validates memory for dense results. If `into` is undefined, results go to the memory of the
 * values.
 */
function memoryFor(
  request: ReplicaRequest,
  values: readonly Value[],
  into: Structure<TensorLike> | undefined,
  device: string,
): readonly Tensor[] {
  const dense = values.some(isIndexedSlices) ? values.filter((value) => !isIndexedSlices(value)) : values;
  const op = request.kind === 'all-reduce' ? collectiveOp(request.op) : undefined;
  if (into !== undefined) return resultsFor(op, dense as readonly Tensor[], tensorsOf(into, device));
  // `asMemory` refuses indexed slices.
  const own = dense === values ? values : values.map(asMemory);
  return resultsFor(op, dense as readonly Tensor[], own as readonly Tensor[]);
}

/** The leaves as tensors or indexed slices on a device. */
function valuesOf(value: ReplicaValue, device: string): Value[] {
  const values: Value[] = [];
  for (const leaf of flatten(value)) values.push(placed(asValue(leaf), device));
  return values;
}

function tensorsOf(into: Structure<TensorLike>, device: string): Tensor[] {
  const tensors: Tensor[] = [];
  for (const leaf of flatten(into)) tensors.push(placed(asMemory(leaf), device));
  return tensors;
}

function denseValues(operation: string, value: ReplicaValue, device: string): readonly Tensor[] {
  const values = valuesOf(value, device);
  requireDense(values, operation);
  return values;
}

function placed<Kind extends Value>(value: Kind, device: string): Kind {
  return device === '' || value.device === device ? value : viewOnDevice(value, device);
}

function resolve(options: ReplicaCallOptions | CallOptions | undefined) {
  const resolved = resolveCallOptions(options);
  const { into } = (options ?? {}) as { readonly into?: Structure<TensorLike> };
  if (into !== undefined && resolved.sharedResult) throw intoAndShared();
  return { into, resolved };
}

/** @throws ValueError for a value that the op does not support */
function requireReducible(op: ReduceOp, values: readonly Value[]): void {
  for (const value of values) {
    const refused = isIndexedSlices(value) ? refusedSparse(op) : refusedArithmetic(collectiveOp(op), value.dtype);
    if (refused !== undefined)
      throw new ValueError('ERR_COLL_REFUSED', `all-reduce: ${refused}`, { operation: 'all-reduce' });
  }
}

/** @throws ValueError for a root that is not a replica */
function requireRoot(root: number, size: number): void {
  if (Number.isInteger(root) && root >= 0 && root < size) return;
  const message = `broadcast: root must be one of the ${size} replicas, got ${quote(root)}`;
  throw new ValueError('ERR_COLL_REFUSED', message, { operation: 'broadcast' });
}

/** @throws ValueError if memory of a replica was detached or resized while its call waited for the others */
export function requireWhole(calls: readonly ReplicaCall[], ids: readonly number[]): void {
  calls.forEach(({ name, values, into = [] }, index) => {
    if (values.some(hasLostMemory) || into.some(hasLostMemory)) throw lostBufferError(name, ids[index] as number);
  });
}

function hasLostMemory(value: Value): boolean {
  if (!('data' in value)) return hasLostMemory(value.values) || hasLostMemory(value.indices);
  return !value.memory && !hasLength(value.data, elementCount(value.shape));
}

/** @throws OutOfRangeError for a replica that is not in this process */
export function requireLocal(replicaId: number, here: readonly number[]): void {
  if (here.includes(replicaId)) return;
  throw new OutOfRangeError(
    `all-reduce: replica ${quote(replicaId)} is not in this process, which has replica ${here.join(', ')}`,
    { operation: 'all-reduce' },
  );
}
