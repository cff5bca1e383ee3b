import {
  type CallOptions,
  deduplicate,
  divideByN,
  IndexedSlices,
  NotImplementedError,
  ReduceOp,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  type Structure,
  type Tensor,
  type TensorLike,
  type Value,
  ValueError,
} from '@coll/core';
import {
  asValue,
  flatten,
  formOf,
  intoAndShared,
  isMapping,
  packLike,
  quote,
  resolveCallOptions,
  writtenTo,
} from '@coll/core/internal';
import { combine, copyToDevice, outputDType, reduceOpFrom, viewOnDevice } from '@coll/core/plugin';
import type { MergeFunction } from './replica-context.js';
import { resultMemory } from './result-memory.js';

/** What a replica asks for, checked and taken apart before anything moves. */
export interface ReplicaRequest {
  /** From left to right, on the replica's device. */
  readonly values: readonly Value[];
  /** Of the structure that they were taken from. */
  readonly form: string;
  /** The options, but for the memory of the results. */
  readonly call: CallOptions;
  readonly sharedResult: boolean;
  /** The results in the structure of the values, in the memory that was named for them. */
  finish(results: readonly Value[]): Structure<Value>;
}

export interface ReduceRequest extends ReplicaRequest {
  readonly op: ReduceOp;
}

/** @throws ValueError for an unknown op, for what is no value, or a value that the op has no meaning for, for bad options and memory */
export function reduceRequest(
  opLike: ReduceOpLike,
  value: ReplicaValue,
  device: string,
  options: ReplicaCallOptions | undefined,
): ReduceRequest {
  const op = reduceOpFrom(opLike);
  const { into, ...parts } = partsOf(options);
  const values = placedValues(value, device);
  requireReducible(op, values);
  const memory = resultMemory(into, values, op);
  return {
    ...parts,
    op,
    values,
    form: formOf(value),
    finish: (results) => packLike(value, writtenTo(memory, results, values)),
  };
}

/** The same for what can only be done with dense values. @throws NotImplementedError for indexed slices */
export function denseRequest(
  operation: string,
  value: ReplicaValue,
  device: string,
  options: ReplicaCallOptions | undefined,
): ReplicaRequest {
  const { into, ...parts } = partsOf(options);
  const values = placedValues(value, device);
  requireDense(values, operation);
  const memory = resultMemory(into, values);
  return {
    ...parts,
    values,
    form: formOf(value),
    finish: (results) => packLike(value, writtenTo(memory, results, values)),
  };
}

/** The values that a replica hands in, from left to right, on its device. @throws ValueError for what is no value */
function placedValues(value: ReplicaValue, device: string): Value[] {
  return flatten(value).map((leaf) => viewOnDevice(asValue(leaf), device));
}

/** @throws NotImplementedError for indexed slices, which can only be reduced */
export function requireDense(values: readonly unknown[], operation: string): asserts values is readonly Tensor[] {
  if (!values.some((value) => value instanceof IndexedSlices)) return;
  throw new NotImplementedError(
    'ERR_COLL_NOT_IMPLEMENTED',
    `${operation} has no meaning for indexed slices: reduce them, or make them dense first`,
    { operation },
  );
}

/** @throws ValueError for a root that is no replica */
export function requireRoot(root: number, numReplicas: number): void {
  if (Number.isInteger(root) && root >= 0 && root < numReplicas) return;
  const told = `broadcast: root ${quote(root)} is not one of the ${numReplicas} replicas`;
  throw new ValueError('ERR_COLL_REFUSED', told, { operation: 'broadcast' });
}

/** The arguments of a merge call, the named ones last. @throws ValueError for a function that is none, or arguments that are none */
export function requireMergeCall<Args extends readonly unknown[]>(
  fn: MergeFunction<Args>,
  args?: readonly unknown[],
  kwargs?: Readonly<Record<string, unknown>>,
): Args {
  const isCall = typeof fn === 'function' && (args === undefined || Array.isArray(args));
  if (isCall && (kwargs === undefined || isMapping(kwargs)))
    return [...(args ?? []), ...(kwargs ? [kwargs] : [])] as unknown as Args;
  const given = [fn, args, ...(kwargs === undefined ? [] : [kwargs])].map(quote).join(', ');
  throw new ValueError(
    'ERR_COLL_VALUE',
    `mergeCall takes a function, a list of arguments and an object of named ones, not ${given}`,
    { operation: 'mergeCall' },
  );
}

/** What all replicas have to do alike: the op, and how rows come together. */
export function toldOf({ op, call }: Pick<ReduceRequest, 'op' | 'call'>): string {
  return `all-reduce ${op}${resolveCallOptions(call).deduplicate ? ' with deduplicate' : ''}`;
}

/** What an all-reduce of one replica gives: new memory, of the dtype that it has with more of them. */
export function reducedAlone({ op, call }: Pick<ReduceRequest, 'op' | 'call'>, value: Value): Value {
  if (!(value instanceof IndexedSlices)) {
    const name = op.toLowerCase() as Lowercase<ReduceOp>;
    const isCopy = outputDType({ kind: 'all-reduce', op: name }, value.dtype) === value.dtype;
    // Memory that JavaScript does not see is copied by whoever does.
    return value.memory && isCopy ? copyToDevice(value, value.device) : combine(name, [value]);
  }
  if (resolveCallOptions(call).deduplicate) return reducedAlone({ op, call: {} }, deduplicate(value));
  return op === ReduceOp.MEAN ? divideByN(value, 1) : copyToDevice(value, value.device);
}

/** @throws ValueError for a value that an op has no meaning for */
function requireReducible(op: ReduceOp, values: readonly Value[]): void {
  const isSum = op === ReduceOp.SUM || op === ReduceOp.MEAN;
  if (!isSum && values.some((value) => value instanceof IndexedSlices))
    throw refused(`indexed slices have a sum and a mean, but no ${op}: make them dense first`);
  if (op === ReduceOp.MEAN && values.some(({ dtype }) => dtype === 'bool'))
    throw refused('bool has no mean: convert to a number type first');
}

function refused(told: string): ValueError {
  return new ValueError('ERR_COLL_REFUSED', `all-reduce: ${told}`, { operation: 'all-reduce' });
}

function partsOf(options: ReplicaCallOptions | undefined) {
  const { into, ...fields } = (options ?? {}) as { readonly into?: Structure<TensorLike> };
  // An options object is handed on as it is: a copy of its fields would no longer be one.
  const call: CallOptions = into === undefined ? ((options as CallOptions | undefined) ?? {}) : fields;
  const { sharedResult = false } = resolveCallOptions(call);
  if (into !== undefined && sharedResult) throw intoAndShared();
  return { into, call, sharedResult };
}
