import type { ReduceOp } from '../collectives/reduce-op.js';
import type { TypedArray } from '../values/dtype.js';
import type { Value } from '../values/indexed-slices.js';
import type { Structure } from '../values/structure.js';
import type { TensorLike } from '../values/tensor.js';
import type { GroupCall, ReplicaCall, ReplicaCallOptions, ReplicaValue } from './replica-call.js';

const mostReduces = 4;
const mostBytes = 2 ** 16;

/** The arrays of a call: a single array, or a list of arrays. */
interface KnownArrays {
  readonly isList: boolean;
  readonly arrays: readonly TypedArray[];
  /** The sizes when the call was validated. A buffer that is detached or resized changes them. Not lengths: see `hasLength`. */
  readonly byteLengths: readonly number[];
  readonly bytes: number;
}

/** A reduce of arrays into known arrays, which is probably repeated. */
export interface RecentReduce<Work> {
  readonly op: ReduceOp;
  readonly values: KnownArrays;
  readonly into: KnownArrays;
  readonly made: GroupCall;
  readonly bytes: number;
  /** What the call executes, together with those of other replicas. Undefined until it was made. */
  work: Work | undefined;
}

/**
 * The latest reduces of one replica whose values and results are arrays, or lists of arrays, and whose only option
 * is `into`, because everything else may change between calls. Up to four if their arrays have at most 64 KiB
 * together, otherwise the latest one.
 */
export class RecentReduces<Work> {
  readonly #reduces: RecentReduce<Work>[] = [];
  #bytes = 0;
  /** The index of the reduce that was found last. */
  #found = 0;

  /** The reduce with these arguments. */
  find(op: ReduceOp, value: ReplicaValue, options: ReplicaCallOptions | undefined): RecentReduce<Work> | undefined {
    if (!hasOnlyInto(options)) return undefined;
    const reduces = this.#reduces;
    for (let tried = 0; tried < reduces.length; tried++) {
      const index = (this.#found + tried) % reduces.length;
      const reduce = reduces[index] as RecentReduce<Work>;
      const { values, into } = reduce;
      // Most arrays are new, and not in a list.
      if (!values.isList && values.arrays[0] !== value) continue;
      if (reduce.op !== op || !isOn(values, value) || !isOn(into, options.into)) continue;
      this.#found = index;
      return reduce;
    }
    return undefined;
  }

  /** The reduce that prepared a call. */
  of(call: ReplicaCall): RecentReduce<Work> | undefined {
    const found = this.#reduces[this.#found];
    return found?.made.call === call ? found : this.#reduces.find(({ made }) => made.call === call);
  }

  /** Remembers a reduce, unless its arrays are unknown. Forgets older ones. */
  add(op: ReduceOp, value: ReplicaValue, options: ReplicaCallOptions | undefined, made: GroupCall): void {
    const reduce = hasOnlyInto(options) ? reduceOf(op, value, options.into, made) : undefined;
    if (reduce) {
      this.#found = this.#reduces.push(reduce as RecentReduce<Work>) - 1;
      this.#bytes += reduce.bytes;
    }
    const least = reduce ? 1 : 0;
    while (this.#reduces.length > mostReduces || (this.#bytes > mostBytes && this.#reduces.length > least)) {
      this.#bytes -= this.#reduces.shift()?.bytes as number;
      this.#found = Math.max(0, this.#found - 1);
    }
  }

  clear(): void {
    this.#reduces.length = 0;
    this.#bytes = 0;
  }
}

function hasOnlyInto(
  options: ReplicaCallOptions | undefined,
): options is ReplicaCallOptions & { readonly into?: Structure<TensorLike> } {
  if (options === undefined) return false;
  for (const name in options) if (name !== 'into') return false;
  return true;
}

/** Undefined unless values and results are arrays. */
function reduceOf(op: ReduceOp, value: unknown, into: unknown, made: GroupCall): RecentReduce<never> | undefined {
  const values = knownArrays(value, made.call.values);
  const results = values && (into === value ? values : made.call.into && knownArrays(into, made.call.into));
  if (!results) return undefined;
  return { op, values, into: results, made, bytes: values.bytes + results.bytes, work: undefined };
}

/** The arrays that were given, if they are the memory of these tensors. */
function knownArrays(given: unknown, tensors: readonly Value[]): KnownArrays | undefined {
  const arrays = Array.isArray(given) ? [...given] : [given];
  if (arrays.length !== tensors.length) return undefined;
  const byteLengths: number[] = [];
  let bytes = 0;
  for (let index = 0; index < arrays.length; index++) {
    const array: unknown = arrays[index];
    const value = tensors[index] as Value;
    // An empty array looks like a detached one.
    if (!ArrayBuffer.isView(array) || array.byteLength === 0) return undefined;
    if (!('data' in value) || value.data !== array) return undefined;
    byteLengths.push(array.byteLength);
    bytes += array.byteLength;
  }
  return byteLengths.length === 0 ? undefined : { isList: Array.isArray(given), arrays, byteLengths, bytes };
}

function isOn({ isList, arrays, byteLengths }: KnownArrays, value: unknown): boolean {
  if (!isList) return value === arrays[0] && (value as TypedArray).byteLength === byteLengths[0];
  if (!Array.isArray(value) || value.length !== arrays.length) return false;
  for (let index = 0; index < arrays.length; index++) {
    if (value[index] !== arrays[index] || value[index].byteLength !== byteLengths[index]) return false;
  }
  return true;
}
