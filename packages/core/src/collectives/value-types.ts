import type { DistributedValues } from '../values/distributed-values.js';
import type { DType, Float16ArrayLike, TypedArrayOf } from '../values/dtype.js';
import type { IndexedSlices, Value } from '../values/indexed-slices.js';
import type { DTypeOf, Tensor } from '../values/tensor.js';
import type { ReduceOpLike } from './reduce-op.js';

/** The dtype of a mean, as `quotientOf` returns it. */
type MeanDType<D extends DType> = D extends 'bool'
  ? never
  : D extends 'int8' | 'int16' | 'uint8' | 'uint16'
    ? 'float32'
    : D extends 'int32' | 'int64' | 'uint32' | 'uint64'
      ? 'float64'
      : D;

/**
 * The dtype of combined values: unchanged, except that the mean of integers is float32 for up to 16
 * bits and float64 for more.
 */
export type DTypeAfter<Op extends ReduceOpLike, D extends DType> = Op extends 'MEAN' | 'mean' ? MeanDType<D> : D;

/**
 * The type of the result of combining a value or its components: indexed slices for indexed slices,
 * a tensor for a tensor or a tensor carrier.
 */
export type ReducedValue<V, Op extends ReduceOpLike = 'SUM'> = unknown extends V
  ? Value
  : V extends IndexedSlices
    ? IndexedSlices
    : V extends DistributedValues<infer Component>
      ? ReducedValue<Component, Op>
      : Tensor<DTypeAfter<Op, DTypeOf<V>>>;

/**
 * `ReducedValue` for cross-device ops. They copy a single component even for a mean, so integers
 * may stay integers.
 */
export type ReducedOnDevices<V, Op extends ReduceOpLike> = ReducedValue<V, Op> | ReducedValue<V>;

/**
 * The type of combined data of type `T`: an array for an array, a tensor for a tensor, a list for a
 * list.
 */
export type CombinedData<T, Op extends ReduceOpLike> = Op extends 'MEAN' | 'mean' ? MeanData<T> : T;

/** `CombinedData` for a mean. */
type MeanData<T> = T extends readonly unknown[]
  ? { [Index in keyof T]: MeanData<T[Index]> }
  : T extends Tensor
    ? Tensor<MeanDType<DTypeOf<T>>>
    : DTypeOf<T> extends MeanDType<DTypeOf<T>>
      ? T
      : TypedArrayOf<MeanDType<DTypeOf<T>>>;

/** The type of memory that can receive data of type `T`: the same array types over any buffer. */
export type MemoryFor<T> = T extends readonly unknown[]
  ? { [Index in keyof T]: MemoryFor<T[Index]> }
  : T extends Tensor
    ? T
    : T extends Float16ArrayLike
      ? Float16ArrayLike
      : TypedArrayOf<DTypeOf<T>>;
