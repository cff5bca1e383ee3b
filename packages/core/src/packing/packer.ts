import type { Tensor } from '../tensor.js';

/**
 * Joins the tensors of each device into fewer, so that fewer collectives run, and takes the results apart again.
 * Lists are per device, and alike on all of them in shapes and dtypes. A packer remembers one `pack` for its `unpack`.
 */
export interface Packer {
  pack(perDevice: readonly (readonly Tensor[])[]): Tensor[][];
  unpack(packed: readonly (readonly Tensor[])[]): Tensor[][];
}
