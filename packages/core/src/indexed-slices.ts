import { isFloating } from './dtype.js';
import { ValueError } from './errors.js';
import { asTensor, type Tensor, type TensorLike } from './tensor.js';

const brand = Symbol.for('@coll/core.indexed-slices');

/**
 * A sparse tensor: row `indices[j]` of the dense one accumulates `values[j]`, so duplicated indices add up.
 * `values` is [k, …], `indices` is [k] of integers, `denseShape` may be unknown.
 */
export class IndexedSlices {
  readonly values: Tensor;
  readonly indices: Tensor;
  readonly denseShape?: readonly number[];

  /** @throws ValueError where values and indices do not fit together. */
  constructor(values: TensorLike, indices: TensorLike, denseShape?: readonly number[]) {
    this.values = asTensor(values, 'values');
    this.indices = asTensor(indices, 'indices');
    if (denseShape) this.denseShape = denseShape;
    if (isFloating(this.indices.dtype) || this.indices.dtype === 'bool' || this.indices.shape.length !== 1) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        `indices must be a list of integers, not ${this.indices.dtype} of shape [${this.indices.shape}]`,
      );
    }
    if (this.values.shape[0] !== this.indices.shape[0]) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        `values of shape [${this.values.shape}] need one row for each of the ${this.indices.shape[0]} indices`,
      );
    }
    if (denseShape && !sameRow(denseShape, this.values.shape)) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        `rows of shape [${this.values.shape.slice(1)}] do not fit into denseShape [${denseShape}]`,
      );
    }
  }

  get dtype(): Tensor['dtype'] {
    return this.values.dtype;
  }

  get device(): string {
    return this.values.device;
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    if (this !== IndexedSlices) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && brand in value;
  }
}

Object.defineProperty(IndexedSlices.prototype, brand, { value: true });

function sameRow(denseShape: readonly number[], shape: readonly number[]): boolean {
  return (
    denseShape.length === shape.length && denseShape.every((dimension, axis) => axis === 0 || dimension === shape[axis])
  );
}
