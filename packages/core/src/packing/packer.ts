import type { Tensor } from '../values/tensor.js';

/**
 * Joins the tensors of each device into fewer ones, so that fewer collectives run, and splits the
 * results again. Lists are per device and have the same shapes and dtypes on every device. A packer
 * remembers one `pack` for its `unpack`.
 */
export interface Packer {
  /** The packs of each device, from its tensors, which have the same shapes and dtypes on all devices. */
  pack(perDevice: readonly (readonly Tensor[])[]): Tensor[][];
  /** The tensors of each device, from its packs; the inverse of the latest `pack`. */
  unpack(packed: readonly (readonly Tensor[])[]): Tensor[][];
}
