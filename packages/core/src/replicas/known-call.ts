import type { ReduceOp } from '../collectives/reduce-op.js';
import { plainDType, type TypedArray } from '../values/dtype.js';
import type { Structure } from '../values/structure.js';
import type { TensorLike } from '../values/tensor.js';
import type { ReplicaCallOptions, ReplicaValue } from './replica-call.js';

/** The arrays of a call: a single array, or a list of arrays. */
interface KnownArrays {
  readonly isList: boolean;
  readonly arrays: readonly TypedArray[];
  /** The sizes when the call was validated. A buffer that is detached or resized changes them. Not lengths: see `hasLength`. */
  readonly byteLengths: readonly number[];
}

/** The arguments of a validated all-reduce, to recognize the same call on the same arrays. */
export interface KnownCall {
  readonly op: ReduceOp;
  readonly values: KnownArrays;
  readonly into: KnownArrays;
}

/**
 * The arguments of a call as a `KnownCall`. Undefined unless values and results are arrays, or
 * lists of arrays, and `into` is the only option: everything else may change between calls.
 */
export function knownCall(
  op: ReduceOp,
  value: ReplicaValue,
  options: ReplicaCallOptions | undefined,
): KnownCall | undefined {
  if (!hasOnlyInto(options)) return undefined;
  const into = knownArrays(options.into);
  const values = options.into === value ? into : knownArrays(value);
  return values && into && { op, values, into };
}

/** Whether a call has the arguments of a known one. */
export function isKnownCall(
  known: KnownCall,
  op: ReduceOp,
  value: ReplicaValue,
  options: ReplicaCallOptions | undefined,
): boolean {
  return op === known.op && hasOnlyInto(options) && isOn(known.values, value) && isOn(known.into, options.into);
}

function hasOnlyInto(
  options: ReplicaCallOptions | undefined,
): options is ReplicaCallOptions & { readonly into?: Structure<TensorLike> } {
  if (options === undefined) return false;
  for (const name in options) if (name !== 'into') return false;
  return true;
}

function knownArrays(value: unknown): KnownArrays | undefined {
  if (isPlainArray(value)) return { isList: false, arrays: [value], byteLengths: [value.byteLength] };
  if (!Array.isArray(value) || value.length === 0 || !value.every(isPlainArray)) return undefined;
  return { isList: true, arrays: [...value], byteLengths: value.map(({ byteLength }) => byteLength) };
}

// An empty array looks like a detached one.
function isPlainArray(value: unknown): value is TypedArray {
  return ArrayBuffer.isView(value) && plainDType(value) !== undefined && (value as TypedArray).length > 0;
}

function isOn({ isList, arrays, byteLengths }: KnownArrays, value: unknown): boolean {
  if (!isList) return value === arrays[0] && (value as TypedArray).byteLength === byteLengths[0];
  if (!Array.isArray(value) || value.length !== arrays.length) return false;
  for (let index = 0; index < arrays.length; index++) {
    if (value[index] !== arrays[index] || value[index].byteLength !== byteLengths[index]) return false;
  }
  return true;
}
