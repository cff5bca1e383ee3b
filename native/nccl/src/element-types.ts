import type { Collective, CollectiveOp, DType } from '@coll/core';
import { byteSize } from '@coll/core/plugin';
import { ncclDtype, ncclOp } from './nccl-binding.js';

/** The op of NCCL's that does the arithmetic; a mean is a sum, and one division afterwards. */
export const opNumbers: Readonly<Record<CollectiveOp, number>> = {
  sum: ncclOp.sum,
  mean: ncclOp.sum,
  min: ncclOp.min,
  max: ncclOp.max,
  product: ncclOp.prod,
};

/** A dtype that NCCL and our kernels know. */
export type KnownDType = keyof typeof ncclDtype;

export function isKnown(dtype: DType): dtype is KnownDType {
  return Object.hasOwn(ncclDtype, dtype);
}

/** As what elements travel: those that NCCL does not know, where they are only moved, as bytes. */
export interface Carrier {
  readonly dtype: number;
  /** How many of them an element is. */
  readonly perElement: number;
}

export function carrierOf(dtype: DType): Carrier {
  if (isKnown(dtype)) return { dtype: ncclDtype[dtype], perElement: 1 };
  return { dtype: ncclDtype.uint8, perElement: byteSize(dtype) };
}

/** Why NCCL cannot do it; undefined where it can. */
export function refusedByNccl(collective: Collective, dtype: DType): string | undefined {
  if (!('op' in collective) || isKnown(dtype)) return undefined;
  return `NCCL cannot reduce ${dtype}, only copy it`;
}
