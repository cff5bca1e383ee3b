import type { DistributedValues } from '../distributed-values.js';
import type { Tensor } from '../tensor.js';
import { ConcatAndSplitPacker } from './concat-and-split-packer.js';
import { groupBySize } from './group-by-size.js';
import type { Packer } from './packer.js';
import { AggregateSmallTensorPacker } from './small-tensor-packer.js';

export interface PackingOptions {
  /** Into how many packs the values of a batch are joined; 0: each value goes by itself. */
  readonly numPacks?: number | undefined;
  /** With `numPacks` 0: neighbours of at most this many bytes are joined. 0: none are. */
  readonly aggSmallGradsMaxBytes?: number | undefined;
  readonly aggSmallGradsMaxGroup?: number | undefined;
}

/** Values of a batch that share an all-reduce, and how they are joined; without a packer each goes by itself. */
export interface BatchPack {
  readonly indices: readonly number[];
  readonly packer: Packer | undefined;
}

/** Values of one dtype share packs: by `bytesPerPack`, last ones first, where it is given, else as the options say. */
export function batchPacks(
  values: readonly DistributedValues<Tensor>[],
  bytesPerPack: number,
  options: PackingOptions,
): BatchPack[] {
  const placed = values.map((value, index) => ({ ...value.primary, index }));
  const dtypes = [...new Set(placed.map(({ dtype }) => dtype))];
  return dtypes.flatMap((dtype) => {
    const alike = placed.filter((value) => value.dtype === dtype);
    if (bytesPerPack === 0)
      return [{ indices: alike.map(({ index }) => index), packer: packerOf(alike.length, options) }];
    const packs = groupBySize(alike.reverse(), bytesPerPack).map((pack) => pack.map(({ index }) => index));
    return packs.map((indices) => ({
      indices,
      packer: indices.length > 1 ? new ConcatAndSplitPacker(1) : undefined,
    }));
  });
}

function packerOf(count: number, options: PackingOptions): Packer | undefined {
  const { numPacks = 1, aggSmallGradsMaxBytes = 0, aggSmallGradsMaxGroup = 10 } = options;
  if (numPacks > 0) return numPacks === 1 && count === 1 ? undefined : new ConcatAndSplitPacker(numPacks);
  return aggSmallGradsMaxBytes > 0 && aggSmallGradsMaxGroup > 0
    ? new AggregateSmallTensorPacker(aggSmallGradsMaxBytes, aggSmallGradsMaxGroup)
    : undefined;
}
