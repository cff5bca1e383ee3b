import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';

/**
 * All element types. `float16` and `bfloat16` are stored in a `Uint16Array`, `bool` in a
 * `Uint8Array` of zeros and ones.
 *
 * @example
 * ```ts
 * import { dtypes, zeros } from '@coll/core';
 *
 * const bytes = dtypes.map((dtype) => zeros(dtype, [1]).data.byteLength);
 * console.log(bytes.join(' ')); // 2 2 4 8 1 2 4 8 1 2 4 8 1
 * ```
 */
export const dtypes = [
  'float16',
  'bfloat16',
  'float32',
  'float64',
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'bool',
] as const satisfies readonly DType[];

/** One of `dtypes`. */
export type DType =
  | 'float16'
  | 'bfloat16'
  | 'float32'
  | 'float64'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'bool';

/** The array type that stores the elements of each dtype. */
interface Storage {
  float16: Uint16Array;
  bfloat16: Uint16Array;
  float32: Float32Array;
  float64: Float64Array;
  int8: Int8Array;
  int16: Int16Array;
  int32: Int32Array;
  int64: BigInt64Array;
  uint8: Uint8Array;
  uint16: Uint16Array;
  uint32: Uint32Array;
  uint64: BigUint64Array;
  bool: Uint8Array;
}

/** The array type that stores the elements of a dtype: `Float32Array` for `float32`. */
export type TypedArrayOf<D extends DType> = Storage[D];

/** The array types that store elements. */
export type TypedArray = TypedArrayOf<DType>;

/** A `Float16Array`, which Node.js has from version 24 on. */
export interface Float16ArrayLike extends ArrayBufferView {
  readonly [Symbol.toStringTag]: 'Float16Array';
  readonly length: number;
  [index: number]: number;
}

interface TypedArrayConstructor {
  new (length: number): TypedArray;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): TypedArray;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
}

const storage: ReadonlyMap<unknown, TypedArrayConstructor> = new Map<DType, TypedArrayConstructor>([
  ['float16', Uint16Array],
  ['bfloat16', Uint16Array],
  ['float32', Float32Array],
  ['float64', Float64Array],
  ['int8', Int8Array],
  ['int16', Int16Array],
  ['int32', Int32Array],
  ['int64', BigInt64Array],
  ['uint8', Uint8Array],
  ['uint16', Uint16Array],
  ['uint32', Uint32Array],
  ['uint64', BigUint64Array],
  ['bool', Uint8Array],
]);

/** Whether a value is the name of an element type. */
export function isDType(value: unknown): value is DType {
  return storage.has(value);
}

/**
 * Bytes of one element.
 * @throws ValueError for an unknown dtype
 *
 * @example
 * ```ts
 * import { byteSize } from '@coll/core/plugin';
 *
 * console.log(byteSize('float32')); // 4
 * ```
 */
export function byteSize(dtype: DType): number {
  return storageOf(dtype).BYTES_PER_ELEMENT;
}

/**
 * Zeros of a dtype, in the array type that stores it.
 * @throws ValueError for an unknown dtype, or if there is not enough memory
 */
export function allocate<D extends DType>(dtype: D, length: number): TypedArrayOf<D> {
  const Storage = storageOf(dtype);
  try {
    return new Storage(length) as TypedArrayOf<D>;
  } catch (cause) {
    throw tooLarge(dtype, length, cause);
  }
}

// In bytes. For smaller arrays, zeroing takes less time than allocating a Node.js Buffer; larger
// ones exceed the limit of Buffers.
const leastUnsetBytes = 2 ** 18;
const mostUnsetBytes = 2 ** 31;

/**
 * Memory with undefined contents, in the array type that stores the dtype. It is zeroed for small
 * or huge arrays, and on platforms other than Node.js. Only for arrays that are written as a whole
 * before a user sees them.
 * @throws as `allocate`
 */
export function allocateUnset<D extends DType>(dtype: D, length: number): TypedArrayOf<D> {
  const Storage = storageOf(dtype);
  const bytes = length * Storage.BYTES_PER_ELEMENT;
  if (!(bytes >= leastUnsetBytes && bytes <= mostUnsetBytes)) return allocate(dtype, length);
  const { Buffer: NodeBuffer } = globalThis as { readonly Buffer?: { allocUnsafeSlow(bytes: number): Uint8Array } };
  if (!NodeBuffer) return allocate(dtype, length);
  try {
    return new Storage(NodeBuffer.allocUnsafeSlow(bytes).buffer as ArrayBuffer) as TypedArrayOf<D>;
  } catch (cause) {
    throw tooLarge(dtype, length, cause);
  }
}

function tooLarge(dtype: DType, length: number, cause: unknown): ValueError {
  return new ValueError('ERR_COLL_BUFFER', `cannot allocate ${quote(length)} elements of ${dtype}`, { cause });
}

/**
 * A view of `length` elements from byte `byteOffset`, which must be a multiple of the element size.
 * @throws ValueError for an unknown dtype, or elements outside the buffer
 *
 * @example
 * ```ts
 * import { viewOf } from '@coll/core/plugin';
 *
 * const buffer = new ArrayBuffer(16);
 * console.log(viewOf('float32', buffer, 8, 2).length); // 2
 * ```
 */
export function viewOf<D extends DType>(
  dtype: D,
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
): TypedArrayOf<D> {
  const Storage = storageOf(dtype);
  try {
    return new Storage(buffer, byteOffset, length) as TypedArrayOf<D>;
  } catch (cause) {
    const text = `${quote(length)} elements of ${dtype} from byte ${quote(byteOffset)} of ${quote(buffer)}`;
    throw new ValueError('ERR_COLL_BUFFER', `cannot view ${text}: ${(cause as Error).message}`, { cause });
  }
}

function storageOf(dtype: DType): TypedArrayConstructor {
  const found = storage.get(dtype);
  if (found) return found;
  throw new ValueError('ERR_COLL_VALUE', `dtype must be one of ${dtypes.join(', ')}, got ${quote(dtype)}`);
}

/** Whether this array can hold elements of this dtype. */
export function stores(dtype: DType, data: TypedArray): boolean {
  // Reading the tag is slower, but identifies arrays of other realms.
  const Storage = storageOf(dtype);
  return data instanceof Storage || arrayName(data) === Storage.name;
}

// The prototypes of this realm, a fast path.
const dtypeOfPrototype = new Map<unknown, DType>([
  [Float32Array.prototype, 'float32'],
  [Float64Array.prototype, 'float64'],
  [Int8Array.prototype, 'int8'],
  [Int16Array.prototype, 'int16'],
  [Int32Array.prototype, 'int32'],
  [BigInt64Array.prototype, 'int64'],
  [Uint8Array.prototype, 'uint8'],
  [Uint16Array.prototype, 'uint16'],
  [Uint32Array.prototype, 'uint32'],
  [BigUint64Array.prototype, 'uint64'],
]);

/**
 * The dtype of an array that a tensor can use as it is; undefined for other arrays, such as those
 * of another realm.
 */
export function plainDType(data: ArrayBufferView): DType | undefined {
  return dtypeOfPrototype.get(Object.getPrototypeOf(data));
}

// By tag instead of instanceof, because arrays may come from other realms (worker contexts, test
// sandboxes).
const naturalDTypes = {
  Float32Array: 'float32',
  Float64Array: 'float64',
  Int8Array: 'int8',
  Int16Array: 'int16',
  Int32Array: 'int32',
  BigInt64Array: 'int64',
  Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8',
  Uint16Array: 'uint16',
  Uint32Array: 'uint32',
  BigUint64Array: 'uint64',
  Float16Array: 'float16',
} as const satisfies Readonly<Record<string, DType>>;

/** The default dtype of an array type; `DType` if the type is not known. */
export type NaturalDType<A> = A extends { readonly [Symbol.toStringTag]: infer Name extends keyof typeof naturalDTypes }
  ? (typeof naturalDTypes)[Name]
  : DType;

/**
 * The default dtype of an array: `float32` for a `Float32Array`.
 * @throws ValueError for a view that cannot be used as a tensor, such as a `DataView`
 */
export function naturalDType(data: ArrayBufferView): DType {
  const dtype = plainDType(data) ?? (naturalDTypes as Readonly<Record<string, DType>>)[arrayName(data)];
  if (dtype === undefined)
    throw new ValueError('ERR_COLL_BUFFER', `a ${arrayName(data)} cannot be used as a tensor: pass a typed array`);
  return dtype;
}

export function arrayName(data: ArrayBufferView): string {
  return Object.prototype.toString.call(data).slice(8, -1);
}

/**
 * Whether elements are 16-bit floats, which are added in float32.
 *
 * @example
 * ```ts
 * import { isHalf } from '@coll/core/plugin';
 *
 * console.log(isHalf('bfloat16'), isHalf('float32')); // true false
 * ```
 */
export function isHalf(dtype: DType): dtype is 'float16' | 'bfloat16' {
  return dtype === 'float16' || dtype === 'bfloat16';
}

/**
 * Whether elements are floats of 16, 32 or 64 bits.
 *
 * @example
 * ```ts
 * import { isFloating } from '@coll/core/plugin';
 *
 * console.log(isFloating('bfloat16'), isFloating('int32')); // true false
 * ```
 */
export function isFloating(dtype: DType): boolean {
  return isHalf(dtype) || dtype === 'float32' || dtype === 'float64';
}

/**
 * The dtype of a true division: floats keep theirs, integers of up to 16 bits give float32, larger
 * ones float64.
 * @throws ValueError for an unknown dtype
 *
 * @example
 * ```ts
 * import { quotientOf } from '@coll/core/plugin';
 *
 * console.log(quotientOf('int16'), quotientOf('int64')); // float32 float64
 * ```
 */
export function quotientOf(dtype: DType): DType {
  if (isFloating(dtype)) return dtype;
  return byteSize(dtype) <= 2 ? 'float32' : 'float64';
}
