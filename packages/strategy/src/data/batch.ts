import {
  asTensor,
  DistributedValues,
  isTensor,
  type Structure,
  type Tensor,
  type TypedArray,
  tensorSymbol,
  ValueError,
} from '@coll/core';
import { flatten, isMapping, quote } from '@coll/core/internal';
import { elementCount, viewOnDevice } from '@coll/core/plugin';

/**
 * A tensor of TensorFlow.js, recognized by its fields, because this package does not import
 * TensorFlow.js.
 */
interface TfTensor {
  readonly dataId: object;
  readonly shape: readonly number[];
  slice(begin: number, size: number): TfTensor;
  dispose(): void;
}

/** A value that can be split along its first axis. */
interface Rows {
  readonly size: number;
  slice(begin: number, end: number): unknown;
}

/**
 * A leaf of a dataset's element. Unless it is a scalar, it can be split along its first axis, which
 * counts the items of the batch.
 */
export class Batch {
  readonly value: unknown;
  readonly #rows: Rows | undefined;

  constructor(value: unknown) {
    this.value = value;
    this.#rows = rowsOf(value);
  }

  /** Number of items; undefined for a scalar. */
  get size(): number | undefined {
    return this.#rows?.size;
  }

  /**
   * Items `[begin, end)`: a view of the same memory, or a new tensor for TensorFlow.js. `device`,
   * if given, becomes the device of a tensor of this library.
   * @throws ValueError for a scalar
   */
  part(begin: number, end: number, device?: string): unknown {
    if (!this.#rows) throw notBatched(this.value);
    return onDevice(this.#rows.slice(begin, end), device);
  }

  /** An empty leaf of the same kind, which shares no memory with this one. @throws ValueError for a scalar */
  empty(): unknown {
    const none = this.part(0, 0);
    if (isTfTensor(none) || Array.isArray(none)) return none;
    return ArrayBuffer.isView(none)
      ? unshared(none as TypedArray)
      : { ...(none as Tensor), data: unshared((none as Tensor).data) };
  }

  /** The whole leaf, unchanged except for the device. */
  whole(device?: string): unknown {
    return onDevice(this.value, device);
  }
}

/**
 * Converts the leaves of an element to batches. Lists of plain values (numbers, strings, …) are
 * leaves, like tensors and typed arrays. Other lists, and mappings, are structures of leaves.
 */
export function batchesOf(element: unknown): Structure<Batch> {
  if (Array.isArray(element) && !element.every(isPlain)) return element.map(batchesOf);
  if (!isMapping(element)) return new Batch(element);
  return Object.fromEntries(Object.entries(element).map(([key, value]) => [key, batchesOf(value)]));
}

/**
 * The number of items, equal for all leaves of a batch.
 * @throws ValueError for scalars, leaves of different sizes, and an element without leaves
 */
export function batchSizeOf(batches: Structure<Batch>): number {
  const leaves = flatten(batches);
  const [first] = leaves;
  if (!first) throw new ValueError('ERR_COLL_VALUE', 'an element of the dataset contains no tensor');
  const scalar = leaves.find(({ size }) => size === undefined);
  if (scalar) throw notBatched(scalar.value);
  const odd = leaves.find(({ size }) => size !== first.size);
  if (!odd) return first.size as number;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `the tensors of an element have first axes of ${first.size} and ${odd.size} items; in a batch they must be equal`,
  );
}

/** Disposes of the TensorFlow.js tensors in a structure, including those in distributed values. */
export function dispose(value: unknown): void {
  if (value instanceof DistributedValues || Array.isArray(value)) {
    for (const item of value instanceof DistributedValues ? value.values : value) dispose(item);
  } else if (isMapping(value)) {
    for (const item of Object.values(value)) dispose(item);
  } else if (isTfTensor(value)) value.dispose();
}

function rowsOf(value: unknown): Rows | undefined {
  if (Array.isArray(value)) return { size: value.length, slice: (begin, end) => value.slice(begin, end) };
  if (isTfTensor(value)) {
    const [size] = value.shape;
    return size === undefined ? undefined : { size, slice: (begin, end) => value.slice(begin, end - begin) };
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const { length } = value as TypedArray;
    return { size: length, slice: (begin, end) => (value as TypedArray).subarray(begin, end) };
  }
  return isCarried(value) ? rowsOfTensor(asTensor(value)) : undefined;
}

function rowsOfTensor(tensor: Tensor): Rows | undefined {
  const [size, ...row] = tensor.shape;
  if (size === undefined) return undefined;
  const length = elementCount(row);
  return {
    size,
    slice: (begin, end) => ({
      ...tensor,
      data: tensor.data.subarray(begin * length, end * length),
      shape: [end - begin, ...row],
    }),
  };
}

/**
 * Whether a value is a tensor of this library, or an object that contains one. TensorFlow.js
 * tensors look similar, but their data is a method.
 */
function isCarried(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof DistributedValues) return false;
  return (isTensor(value) && !isTfTensor(value)) || tensorSymbol in value;
}

/** Whether a value is a tensor of TensorFlow.js. */
export function isTfTensor(value: unknown): value is TfTensor {
  if (typeof value !== 'object' || value === null) return false;
  const { dataId, shape, slice, dispose: free } = value as Partial<TfTensor>;
  return (
    typeof dataId === 'object' && Array.isArray(shape) && typeof slice === 'function' && typeof free === 'function'
  );
}

function unshared<Data extends TypedArray>(none: Data): Data {
  return Uint8Array.prototype.slice.call(none) as Data;
}

function isPlain(value: unknown): boolean {
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

function onDevice(value: unknown, device: string | undefined): unknown {
  return device !== undefined && isCarried(value) ? viewOnDevice(asTensor(value), device) : value;
}

function notBatched(value: unknown): ValueError {
  const text = isCarried(value) || isTfTensor(value) ? 'a tensor without dimensions' : quote(value);
  return new ValueError(
    'ERR_COLL_VALUE',
    `an element of the dataset contains ${text}, which cannot be split along the first axis: batch the dataset by the global batch size`,
  );
}
