import type { Tensor } from '../values/tensor.js';

/**
 * Joins the tensors of each device into fewer, so that fewer collectives run, and takes the results apart again.
 * Lists are per device, and alike on all of them in shapes and dtypes. A packer remembers one `pack` for its `unpack`.
 */
export interface Packer {
  /** The packs of each device, from its tensors, which are alike on all devices. */
  pack(perDevice: readonly (readonly Tensor[])[]): Tensor[][];
  /** The tensors of each device, from its packs; the inverse of the latest `pack`. */
  unpack(packed: readonly (readonly Tensor[])[]): Tensor[][];
}
