import { ValueError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { quote } from '../support/quote.js';
import { rememberGiven, rememberLike } from './array-kinds.js';
import { requireAttached } from './attached.js';
import {
  allocate,
  allocateUnset,
  arrayName,
  type DType,
  type Float16ArrayLike,
  isDType,
  type NaturalDType,
  naturalDType,
  plainDType,
  stores,
  type TypedArray,
  type TypedArrayOf,
} from './dtype.js';
import { encodeNumber } from './element.js';
import { foreignTensor } from './foreign-tensor.js';

/**
 * Elements in row-major order. `shape` is in elements; `[]` is a scalar with one element. `device`
 * names the memory's device (`cpu:0`); an empty string means no device. `D` is the dtype if known:
 * the data of a `Tensor<'float32'>` is a `Float32Array`.
 */
export interface Tensor<D extends DType = DType> {
  readonly data: TypedArrayOf<D>;
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly device: string;
  /**
   * Device memory that JavaScript cannot access; if it is set, reading `data` throws. Undefined
   * means that the elements are in `data`.
   */
  readonly memory?: DeviceMemory | undefined;
}

/**
 * Memory of a device that JavaScript cannot access, such as a GPU's. Only the package that
 * allocated the memory can compute on it; other packages can pass it on and copy it.
 */
export interface DeviceMemory {
  /** Length of the memory, in elements of the tensor's dtype. */
  readonly length: number;
  /** The same memory under another shape of the same size, or another device name. */
  view(shape: readonly number[], device: string): Tensor;
  /**
   * A copy in new memory on a device of the same kind, made after all earlier work on this memory.
   * @throws CollError for any other device
   */
  copy(shape: readonly number[], device: string): Tensor;
  /**
   * Overwrites this memory with the elements of a tensor, which must have the same length and the
   * same kind of memory.
   * @throws CollError for any other tensor
   */
  set(from: Tensor): void;
}

/** Tensor properties that a typed array does not determine. */
export interface TensorOptions<D extends DType = DType> {
  /**
   * The dtype. Default: the natural dtype of the array. Required for `float16`, `bfloat16` and
   * `bool`.
   */
  readonly dtype?: D;
  /** The shape. Default: one dimension with all elements. */
  readonly shape?: readonly number[];
  /** The name of the device. Default: empty, which means no device. */
  readonly device?: string;
}

const tensorOptions = knownOptions<TensorOptions>('tensor', { dtype: true, shape: true, device: true });

/**
 * The name of a method that converts an object to a tensor. The method returns a tensor or a typed
 * array.
 *
 * @example
 * ```ts
 * import { asTensor, tensor, tensorSymbol } from '@coll/core';
 *
 * class Matrix {
 *   readonly numbers = new Float32Array([1, 2, 3, 4]);
 *
 *   [tensorSymbol]() {
 *     return tensor(this.numbers, { shape: [2, 2] });
 *   }
 * }
 * console.log(asTensor(new Matrix()).shape); // [ 2, 2 ]
 * ```
 */
export const tensorSymbol: unique symbol = Symbol.for('coll.tensor') as never;

/** An object that can be converted to a tensor, such as a tensor of another library. */
export interface TensorCarrier {
  [tensorSymbol](): Tensor | TypedArray | Float16ArrayLike;
}

/**
 * Any value that is accepted as a tensor. A bare typed array has one dimension and no device; a
 * number is a float64 scalar.
 */
export type TensorLike = Tensor | TypedArray | Float16ArrayLike | TensorCarrier | number;

/** The dtype of the tensor that a value is or carries; `DType` if that is not known. */
export type DTypeOf<V> = V extends { readonly dtype: infer D extends DType }
  ? D
  : V extends number | readonly number[]
    ? 'float64'
    : V extends { [tensorSymbol](): infer Carried }
      ? DTypeOf<Carried>
      : NaturalDType<V>;

// Kernels use int32 indices.
const mostElements = 2 ** 31 - 1;

/**
 * A tensor over the given memory, without a copy. Numbers and arrays of numbers become float64
 * unless a dtype is given.
 * @throws ValueError if `dtype` does not store its elements in this array type, the shape has
 * another size, the buffer is detached, or there are more than 2^31 - 1 elements
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 *
 * const matrix = tensor(new Float32Array([1, 2, 3, 4]), { shape: [2, 2], device: 'cpu:0' });
 * console.log(matrix.dtype, matrix.shape); // float32 [ 2, 2 ]
 * const halves = tensor([0.5, 1], { dtype: 'float16' });
 * console.log(halves.data); // Uint16Array(2) [ 14336, 15360 ]
 * ```
 */
export function tensor<V extends ArrayBufferView | number | readonly number[], D extends DType = DTypeOf<V>>(
  data: V,
  options?: TensorOptions<D>,
): Tensor<D>;
export function tensor(data: ArrayBufferView | number | readonly number[], options?: TensorOptions): Tensor {
  const given = optionsOf(options, '{ dtype, shape, device }', tensorOptions);
  const shape = given.shape ?? (typeof data === 'number' ? [] : undefined);
  const dtype = given.dtype ?? (ArrayBuffer.isView(data) ? naturalDType(data) : 'float64');
  requireDType(dtype);
  const elements = ArrayBuffer.isView(data) ? elementsOf(data) : fromNumbers(data, dtype);
  const made: Tensor = { data: elements, dtype, shape: shape ?? [elements.length], device: given.device ?? '' };
  requirePlace(made);
  validateTensor(made);
  return made;
}

/**
 * Zeros in new memory.
 * @throws ValueError for an invalid dtype or shape, or if there is not enough memory
 *
 * @example
 * ```ts
 * import { zeros } from '@coll/core';
 *
 * const { data, shape, device } = zeros('float32', [1, 2], 'cpu:0');
 * console.log(data, shape, device); // Float32Array(2) [ 0, 0 ] [ 1, 2 ] cpu:0
 * ```
 */
export function zeros<D extends DType>(dtype: D, shape: readonly number[], device = ''): Tensor<D> {
  requireDType(dtype);
  requireShape(shape);
  requireElements(elementCount(shape));
  return { data: allocate(dtype, elementCount(shape)), dtype, shape, device };
}

/**
 * Whether a value has the fields of a tensor. `validateTensor` checks that they are consistent.
 *
 * @example
 * ```ts
 * import { isTensor, tensor } from '@coll/core';
 *
 * console.log(isTensor(tensor([1, 2])), isTensor(new Float32Array(2))); // true false
 * ```
 */
export function isTensor(value: unknown): value is Tensor {
  return (
    typeof value === 'object' &&
    value !== null &&
    'dtype' in value &&
    'shape' in value &&
    'data' in value &&
    isDType(value.dtype) &&
    // Tensors of TensorFlow.js have methods of these names.
    !('dataSync' in value)
  );
}

/** Whether `asTensor` accepts a value. */
export function isTensorLike(value: unknown): value is TensorLike {
  if (typeof value === 'number') return true;
  if (typeof value !== 'object' || value === null) return false;
  return ArrayBuffer.isView(value) || tensorSymbol in value || isTensor(value);
}

/**
 * The tensor that a value is or carries.
 * @throws ValueError for any other value; `what` is the name of the value in the message. Default:
 * `value`.
 *
 * @example
 * ```ts
 * import { asTensor } from '@coll/core';
 *
 * const { dtype, shape } = asTensor(new Float32Array(3));
 * console.log(dtype, shape); // float32 [ 3 ]
 * ```
 */
export function asTensor<V>(value: V, what?: string): Tensor<DTypeOf<V>>;
export function asTensor(value: unknown, what = 'value'): Tensor {
  if (typeof value === 'object' && value !== null && tensorSymbol in value) {
    return carriedBy(value as TensorCarrier, what);
  }
  if (ArrayBuffer.isView(value)) return tensorOver(value);
  if (isTensor(value)) {
    // Plain JavaScript code may omit the device of a tensor.
    const placed = value.device === undefined ? { ...(value as Tensor), device: '' } : value;
    requirePlace(placed);
    const stored = storedTensor(placed);
    validateTensor(stored);
    return stored;
  }
  if (typeof value === 'number') return tensor(value);
  const name = typeof what === 'string' ? what : 'value';
  const message =
    oddField(value, name) ??
    foreignReason(value, name) ??
    `${name} must be a tensor, a typed array or a number, got ${quote(value)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}

/**
 * The tensor of memory for a result. @throws as `asTensor`, and for a number, which has no memory
 */
export function asMemory(into: unknown): Tensor {
  if (typeof into !== 'number') return asTensor(into, 'into');
  throw new ValueError('ERR_COLL_VALUE', `into must be a tensor or a typed array, got ${into}`);
}

// A carrier may return another carrier, and its method may call asTensor. The limit stops the
// recursion if carriers return each other.
const mostCarriers = 16;
let carriers = 0;

function carriedBy(carrier: TensorCarrier, what: string): Tensor {
  const isEndless = carriers === mostCarriers;
  carriers++;
  try {
    const carried: unknown =
      typeof carrier[tensorSymbol] === 'function' && !isEndless ? carrier[tensorSymbol]() : undefined;
    if (carried !== undefined) return asTensor(carried, what);
  } finally {
    carriers--;
  }
  const got = isEndless ? ', but it returned another object with such a method, again and again' : '';
  throw new ValueError(
    'ERR_COLL_VALUE',
    `the tensor method of ${quote(carrier)} must return a tensor or a typed array${got}`,
  );
}

/** The reason why a tensor of another library is not a tensor; undefined for any other value. */
function foreignReason(value: unknown, what: string): string | undefined {
  const kind = foreignTensor(value);
  const advice = 'pass its elements and its shape, tensor(await value.data(), { shape: value.shape })';
  return kind && `${what} is ${kind}, whose elements only its own library can read: ${advice}`;
}

/** The reason why an object with a `data` field is not a tensor; undefined for any other value. */
function oddField(value: unknown, what: string): string | undefined {
  if (typeof value !== 'object' || value === null || !('data' in value && ArrayBuffer.isView(value.data)))
    return undefined;
  const missing = ['dtype', 'shape'].filter((field) => !(field in value));
  if (missing.length > 0)
    return `${what} has data but no ${missing.join(' and no ')}: create a tensor with tensor(data, { dtype, shape, device })`;
  return `${what} has an unknown dtype: ${quote((value as Partial<Tensor>).dtype)}`;
}

// A fast path for plain typed arrays, because most values are such arrays.
function tensorOver(data: ArrayBufferView): Tensor {
  const dtype = plainDType(data);
  if (dtype === undefined || data.byteLength === 0) {
    const made = tensor(data);
    if (made.data !== data) rememberGiven(made.data, data);
    return made;
  }
  const { length } = data as TypedArray;
  if (length > mostElements) return tensor(data);
  return { data: data as TypedArray, dtype, shape: [length], device: '' };
}

/**
 * The tensor over an array of the stored type, if its data is a `Float16Array` or a
 * `Uint8ClampedArray`.
 */
function storedTensor(value: Tensor): Tensor {
  // Only these dtypes have two kinds of arrays.
  if ((value.dtype !== 'float16' && value.dtype !== 'uint8') || value.memory) return value;
  const { data } = value;
  if (!ArrayBuffer.isView(data) || plainDType(data) || !isOfKind(value.dtype, data)) return value;
  const stored = elementsOf(data);
  rememberGiven(stored, data);
  return { ...value, data: stored };
}

function isOfKind(dtype: DType, data: ArrayBufferView): boolean {
  return arrayName(data) === (dtype === 'float16' ? 'Float16Array' : 'Uint8ClampedArray');
}

/**
 * Product of the dimensions; 1 for a scalar.
 *
 * @example
 * ```ts
 * import { elementCount } from '@coll/core/plugin';
 *
 * console.log(elementCount([2, 3]), elementCount([])); // 6 1
 * ```
 */
export function elementCount(shape: readonly number[]): number {
  let product = 1;
  for (const dimension of shape) product *= dimension;
  return product;
}

export function byteLength(value: Tensor): number {
  return value.data.byteLength;
}

/** The same memory under another shape of the same size. */
export function reshape<D extends DType>(value: Tensor<D>, shape: readonly number[]): Tensor<D> {
  if (value.memory) return value.memory.view(shape, value.device) as Tensor<D>;
  return { ...value, shape };
}

/** A copy in new, unshared memory on `device`. Device memory is copied to device memory. */
export function copyTo<D extends DType>(value: Tensor<D>, device: string): Tensor<D> {
  if (value.memory) return value.memory.copy(value.shape, device) as Tensor<D>;
  const data = allocateUnset(value.dtype, value.data.length);
  copyElements(data, value.data);
  rememberLike(data, value);
  return { data, dtype: value.dtype, shape: value.shape, device };
}

/** Copies all elements; both arrays have the same type and length. */
export function copyElements(into: TypedArray, from: TypedArray): void {
  (into as Float32Array).set(from as Float32Array);
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
  return true;
}

/** Whether two arrays overlap in memory. An empty array overlaps nothing. */
export function overlaps(a: TypedArray, b: TypedArray): boolean {
  if (a.buffer !== b.buffer || a.byteLength === 0 || b.byteLength === 0) return false;
  return a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
}

/** @throws ValueError unless memory, dtype and shape are consistent. */
export function validateTensor(value: Tensor): void {
  const { dtype, shape, memory } = value;
  if (memory) {
    requireShape(shape);
    requireSize(shape, memory.length);
    return;
  }
  const { data } = value;
  if (!ArrayBuffer.isView(data) || !stores(dtype, data)) {
    throw new ValueError(
      'ERR_COLL_BUFFER',
      `the data of a ${dtype} tensor must be a ${arrayName(allocate(dtype, 0))}, got ${quote(data)}`,
    );
  }
  requireShape(shape);
  requireAttached(data);
  requireElements(data.length);
  requireSize(shape, data.length);
}

function requireSize(shape: readonly number[], length: number): void {
  const asked = elementCount(shape);
  if (asked === length) return;
  throw new ValueError('ERR_COLL_VALUE', `shape [${shape}] needs ${asked} elements, but the array has ${length}`);
}

/** @throws ValueError for more elements than a tensor can have */
export function requireElements(count: number): void {
  if (count <= mostElements) return;
  throw new ValueError(
    'ERR_COLL_BUFFER',
    `a tensor must have at most ${mostElements} elements, got ${count}: split it`,
  );
}

/** @throws ValueError unless `dtype` is the name of a dtype */
function requireDType(dtype: unknown): asserts dtype is DType {
  if (!isDType(dtype)) throw new ValueError('ERR_COLL_VALUE', `unknown dtype ${quote(dtype)}`);
}

/** @throws ValueError unless `shape` is a valid shape */
export function requireShape(shape: readonly number[]): void {
  if (Array.isArray(shape) && shape.every(isDimension)) return;
  throw new ValueError('ERR_COLL_VALUE', `a shape must be a list of whole numbers, 0 or more, got ${quote(shape)}`);
}

function isDimension(dimension: unknown): boolean {
  return Number.isInteger(dimension) && (dimension as number) >= 0;
}

function requirePlace({ device }: Tensor): void {
  if (typeof device === 'string') return;
  throw new ValueError('ERR_COLL_DEVICE', `a device must be a string such as "cpu:0", got ${quote(device)}`);
}

// Converts other array types to the plain type that kernels expect, over the same bytes.
function elementsOf(data: ArrayBufferView): TypedArray {
  if (plainDType(data)) return data as TypedArray;
  const name = arrayName(data);
  // A new view would be an empty array with memory.
  requireAttached(data);
  if (name === 'Uint8ClampedArray') return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (name === 'Float16Array') return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  // A Buffer is a Uint8Array whose methods differ (slice), but nothing here calls those.
  return data as TypedArray;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}

function fromNumbers(numbers: number | readonly number[], dtype: DType): TypedArray {
  const list = typeof numbers === 'number' ? [numbers] : numbers;
  if (!isNumbers(list))
    throw new ValueError(
      'ERR_COLL_VALUE',
      `a tensor must be made from a typed array or from numbers, got ${quote(numbers)}`,
    );
  return encodeNumbers(list, dtype);
}

function encodeNumbers(numbers: readonly number[], dtype: DType): TypedArray {
  const data = allocate(dtype, numbers.length);
  numbers.forEach((number, index) => {
    data[index] = encodeNumber(number, dtype) as number;
  });
  return data;
}
