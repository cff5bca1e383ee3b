import type { DType, TypedArray } from './dtype.js';

/** A tensor, or a part of one: its elements and their dtype. */
interface Elements {
  readonly dtype: DType;
  readonly data: TypedArray;
  readonly memory?: unknown;
}

/**
 * The `Float16Array` or `Uint8ClampedArray` of a caller, by the array of the stored type that is used
 * in its place, over the same memory.
 */
const givenArrays = new WeakMap<TypedArray, ArrayBufferView>();

/** Remembers that a caller passed `given`, in whose place `stored` is used. */
export function rememberGiven(stored: TypedArray, given: ArrayBufferView): void {
  givenArrays.set(stored, given);
}

/** Remembers that `copy` is shown to callers in the same kind of array as `stored`. */
export function rememberLike(copy: TypedArray, stored: Elements): void {
  const given = givenOf(stored);
  if (given) givenArrays.set(copy, sameKind(given, copy));
}

/** Whether a caller passed these elements in another kind of array. */
export function isGivenOtherwise(elements: object): boolean {
  return (
    'data' in elements &&
    hasTwoKinds[(elements as Elements).dtype] === true &&
    givenOf(elements as Elements) !== undefined
  );
}

/**
 * A result in the kind of array that the caller knows: the array that the caller passed as its memory,
 * or an array of the kind in which the caller passed `source`. Sparse results are unchanged.
 */
export function asGiven<Result extends object>(result: Result, source?: object): Result {
  if (!result || !('data' in result)) return result;
  const elements = result as unknown as Elements;
  const own = givenOf(elements);
  if (own) return { ...result, data: own };
  const given = source && 'data' in source ? givenOf(source as Elements) : undefined;
  if (!given || (source as Elements).dtype !== elements.dtype) return result;
  return { ...result, data: sameKind(given, elements.data) };
}

function givenOf(elements: Elements): ArrayBufferView | undefined {
  if (!hasTwoKinds[elements.dtype] || elements.memory) return undefined;
  return givenArrays.get(elements.data);
}

/** The dtypes whose elements callers may pass in two kinds of arrays. */
const hasTwoKinds: Readonly<Partial<Record<DType, boolean>>> = { float16: true, uint8: true };

type Constructor = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => ArrayBufferView;

function sameKind(given: ArrayBufferView, { buffer, byteOffset, length }: TypedArray): ArrayBufferView {
  const { [Symbol.toStringTag]: name } = given as Uint8Array;
  const builtIn = (globalThis as unknown as Readonly<Record<string, Constructor | undefined>>)[name];
  return new (builtIn ?? (given.constructor as Constructor))(buffer, byteOffset, length);
}
