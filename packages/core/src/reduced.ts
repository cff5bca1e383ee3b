import type { IndexedSlices } from './indexed-slices.js';
import type { Tensor, TensorLike } from './tensor.js';

/** What a collective returns for a value: tensors for whatever stands for one, slices for slices, in the same structure. */
export type Reduced<Value> = Value extends IndexedSlices
  ? IndexedSlices
  : Value extends TensorLike
    ? Tensor
    : { -readonly [Key in keyof Value]: Reduced<Value[Key]> };
