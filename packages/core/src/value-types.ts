import type { Mirrored, PerReplica } from './distributed-values.js';
import type { DType } from './dtype.js';
import type { ReduceOpLike } from './reduce-op.js';
import type { IndexedSlices } from './sparse/indexed-slices.js';
import type { DTypeOf, Tensor } from './tensor.js';

/** The dtype of a mean: that of `quotientOf`. */
type MeanDType<D extends DType> = D extends 'bool'
  ? never
  : D extends 'int8' | 'int16' | 'uint8' | 'uint16'
    ? 'float32'
    : D extends 'int32' | 'int64' | 'uint32' | 'uint64'
      ? 'float64'
      : D;

/** The dtype of values once an op has combined them: their own, but the mean of integers is a float. */
export type DTypeAfter<Op extends ReduceOpLike, D extends DType> = Op extends 'MEAN' | 'mean' ? MeanDType<D> : D;

/** What combining values of a type gives: indexed slices for indexed slices, a tensor for anything that stands for one. */
export type ReducedValue<V, Op extends ReduceOpLike = 'SUM'> = V extends IndexedSlices
  ? IndexedSlices
  : V extends PerReplica<infer Component> | Mirrored<infer Component>
    ? ReducedValue<Component, Op>
    : Tensor<DTypeAfter<Op, DTypeOf<V>>>;
