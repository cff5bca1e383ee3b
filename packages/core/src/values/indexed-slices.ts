import { WrongTypeError } from '../support/built-in-errors.js';
import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { isFloating } from './dtype.js';
import { asNumbers, firstOutside, pick } from './index-numbers.js';
import { asTensor, type Tensor, type TensorLike } from './tensor.js';

/** A reducible value: a dense or sparse tensor. */
export type Value = Tensor | IndexedSlices;

const brand = Symbol.for('@coll/core.indexed-slices');

/**
 * A sparse tensor: row `indices[j]` of the dense tensor accumulates `values[j]`, so rows with equal
 * indices are added.
 *
 * `values` is `[k, …]`, one row per index; if the shape is `[k]`, each row is a scalar. `indices`
 * is `[k]` of any integer dtype. `denseShape` is the shape of the dense tensor; only its first
 * dimension can differ from that of `values`. It may be undefined until `densify`.
 *
 * Indices are not checked against `denseShape` here, because that takes as long as adding the rows;
 * `densify` checks them.
 *
 * @example
 * ```ts
 * import { densify, IndexedSlices, tensor } from '@coll/core';
 *
 * // Rows 2 and 0 of a tensor of shape [3, 2].
 * const rows = tensor(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] });
 * const gradient = new IndexedSlices(rows, new Int32Array([2, 0]), [3, 2]);
 * console.log(densify(gradient).data.join(' ')); // 3 4 0 0 1 2
 * ```
 */
export class IndexedSlices {
  /** The rows: a tensor of shape `[k, …]`. */
  readonly values: Tensor;
  /** For each row of `values`, the row of the dense tensor that accumulates it; the shape is `[k]`. */
  readonly indices: Tensor;
  /** The shape of the dense tensor; undefined if unknown. */
  readonly denseShape?: readonly number[];

  /**
   * Uses the given memory without a copy. If `values` are slices themselves, their rows are used,
   * and each of their indices `i` is replaced by `indices[i]`.
   * @throws ValueError if values, indices and dense shape do not fit together
   */
  constructor(values: TensorLike | IndexedSlices, indices: TensorLike, denseShape?: readonly number[]) {
    const places = asTensor(indices, 'indices');
    requireIndices(places);
    const rows = values instanceof IndexedSlices ? values.values : asTensor(values, 'values');
    this.values = rows;
    this.indices = values instanceof IndexedSlices ? lookedUp(values, places) : places;
    if (rows.shape[0] !== this.indices.shape[0]) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        `values must have one row per index, got shape [${rows.shape}] for ${this.indices.shape[0]} indices`,
      );
    }
    if (denseShape === undefined || denseShape === null) return;
    requireDenseShape(denseShape, rows.shape);
    this.denseShape = denseShape;
  }

  /** The dtype of the values. */
  get dtype(): Tensor['dtype'] {
    return this.values.dtype;
  }

  /** The device of the values. */
  get device(): string {
    return this.values.device;
  }

  /** Makes `instanceof` also true for slices of separately installed copies of the library. */
  static [Symbol.hasInstance](value: unknown): boolean {
    if (this !== IndexedSlices) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && brand in value;
  }
}

Object.defineProperty(IndexedSlices.prototype, brand, { value: true });

/** @throws WrongTypeError unless `value` is sparse */
export function requireSlices(value: unknown): void {
  if (value instanceof IndexedSlices) return;
  throw new WrongTypeError(`the value must be indexed slices, got ${quote(value)}`);
}

function requireIndices({ dtype, shape }: Tensor): void {
  if (!isFloating(dtype) && dtype !== 'bool' && shape.length === 1) return;
  throw new ValueError('ERR_COLL_VALUE', `indices must be a list of integers, got ${dtype} of shape [${shape}]`);
}

function requireDenseShape(denseShape: readonly number[], shape: readonly number[]): void {
  if (!Array.isArray(denseShape) || !denseShape.every((dimension) => Number.isSafeInteger(dimension) && dimension >= 0))
    throw new ValueError(
      'ERR_COLL_VALUE',
      `denseShape must be a list of whole numbers, 0 or more, got ${quote(denseShape)}`,
    );
  const isRow = denseShape.every((dimension, axis) => axis === 0 || dimension === shape[axis]);
  if (denseShape.length === shape.length && isRow) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `rows of shape [${shape.slice(1)}] do not fit into denseShape [${denseShape}]`,
  );
}

/** The elements of `outer` at the positions given by the indices of the inner slices. */
function lookedUp({ indices, denseShape }: IndexedSlices, outer: Tensor): Tensor {
  const count = outer.data.length;
  if (denseShape && denseShape[0] !== count) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      `values are slices of denseShape [${denseShape}] and must have one row for each of the ${count} indices`,
    );
  }
  const outside = firstOutside(asNumbers(indices), count);
  if (outside >= 0) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      `values are slices with an index ${indices.data[outside]}, but each must be the position of one of the ${count} outer indices`,
    );
  }
  return pick(outer, indices);
}
