import type { Collective, CollectiveOp, DType } from '@coll/core';
import { byteSize } from '@coll/core/plugin';
import { ncclDtype, ncclOp } from './nccl-binding.js';

/**
 * The code by which NCCL knows each reduce op. A mean is executed as a sum, followed by one
 * division.
 */
export const opNumbers: Readonly<Record<CollectiveOp, number>> = {
  sum: ncclOp.sum,
  mean: ncclOp.sum,
  min: ncclOp.min,
  max: ncclOp.max,
  product: ncclOp.prod,
};

/** A dtype that NCCL and this package's kernels support. */
export type KnownDType = keyof typeof ncclDtype;

export function isKnown(dtype: DType): dtype is KnownDType {
  return Object.hasOwn(ncclDtype, dtype);
}

/**
 * The NCCL type in which elements of a dtype are transferred: elements of a dtype unknown to NCCL
 * are transferred as bytes.
 */
export interface Carrier {
  readonly dtype: number;
  /** Number of elements of this NCCL type that hold one element of the dtype. */
  readonly perElement: number;
}

export function carrierOf(dtype: DType): Carrier {
  if (isKnown(dtype)) return { dtype: ncclDtype[dtype], perElement: 1 };
  return { dtype: ncclDtype.uint8, perElement: byteSize(dtype) };
}

/** Why NCCL cannot execute a collective; undefined if it can. */
export function refusedByNccl(collective: Collective, dtype: DType): string | undefined {
  if (!('op' in collective) || isKnown(dtype)) return undefined;
  return `NCCL cannot reduce ${dtype}, only copy it`;
}
