import type { Tensor } from '../values/tensor.js';

/**
 * Joins the tensors of each device into fewer ones, so that fewer collectives run, and splits the
 * results again. Lists are per device and have the same shapes and dtypes on every device. A packer
 * remembers only the latest `pack` for `unpack`.
 */
export interface Packer {
  /** Packs the tensors of each device, which have the same shapes and dtypes on all devices. */
  pack(perDevice: readonly (readonly Tensor[])[]): Tensor[][];
  /** Unpacks the tensors of each device; the inverse of the latest `pack`. */
  unpack(packed: readonly (readonly Tensor[])[]): Tensor[][];
}
