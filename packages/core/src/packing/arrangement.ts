import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import type { DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import { OpenPacks } from './open-packs.js';
import { smallRanges } from './small-ranges.js';

/** How the values of a batch are packed into fewer, larger collectives. */
export interface PackingOptions {
  /** Number of packs for the values of a batch, per dtype. 0 means one collective per value. Default: 1. */
  readonly numPacks?: number | undefined;
  /**
   * If `numPacks` is 0, neighbouring float32 tensors of at most this many bytes each are joined.
   * Default: 0, no tensors are joined.
   */
  readonly aggSmallGradsMaxBytes?: number | undefined;
  /** Maximum number of tensors to join; by TensorFlow's rule, up to two more may be joined. Default: 10. */
  readonly aggSmallGradsMaxGroup?: number | undefined;
}

/** @throws ValueError, naming `owner`, for a negative `numPacks` and for numbers that are not whole */
export function requirePacking(options: PackingOptions, owner: string): void {
  const { numPacks = 0, aggSmallGradsMaxBytes = 0, aggSmallGradsMaxGroup = 0 } = options;
  if (!(Number.isInteger(numPacks) && numPacks >= 0))
    throw new ValueError('ERR_COLL_VALUE', `${owner}: numPacks must be 0 or more, got ${quote(numPacks)}`);
  for (const [name, value] of Object.entries({ aggSmallGradsMaxBytes, aggSmallGradsMaxGroup })) {
    if (!Number.isSafeInteger(value))
      throw new ValueError('ERR_COLL_VALUE', `${owner}: ${name} must be a whole number, got ${quote(value)}`);
  }
}

/** A range of elements of one tensor in a list. */
export interface Piece {
  readonly index: number;
  readonly begin: number;
  readonly end: number;
}

/** The contents of one collective: pieces of one dtype that form one buffer in this order. */
export interface Pack {
  /** Index of this pack among all packs of a list. Empty packs, which are left out, are counted too. */
  readonly number: number;
  readonly pieces: readonly Piece[];
}

/**
 * Packs the tensors of a list; packs are in the order in which their collectives start. With
 * `bytesPerPack`, packs by size, last tensors first; otherwise by `options`. Depends on dtypes and
 * shapes only, so all ranks get the same packs.
 */
export function arrange(tensors: readonly Tensor[], options: PackingOptions = {}, bytesPerPack = 0): Pack[] {
  const { numPacks = 1, aggSmallGradsMaxBytes = 0, aggSmallGradsMaxGroup = 10 } = options;
  if (bytesPerPack > 0) return numbered(packsBySize(tensors, bytesPerPack), tensors);
  if (numPacks > 0) return evenPacks(tensors, numPacks);
  const joinsSmall = aggSmallGradsMaxBytes > 0 && aggSmallGradsMaxGroup > 0;
  const ranges = joinsSmall ? smallRanges(tensors, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup) : [];
  const joined = ranges.map(([first, last]) => Array.from({ length: last - first + 1 }, (_, offset) => first + offset));
  const packed = new Set(joined.flat());
  const others = [...tensors.keys()].filter((index) => !packed.has(index)).map((index) => [index]);
  return numbered([...joined, ...others], tensors);
}

/**
 * Cuts one buffer, made of tensors of these lengths, into `numPacks` packs. Of T elements in total,
 * each pack has floor(T / numPacks), and the last also takes the remainder. Empty packs are left
 * out. A buffer without elements becomes one empty pack whose `number` is that of the last pack.
 */
export function cutEvenly(lengths: readonly number[], numPacks: number): Pack[] {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const size = Math.floor(total / numPacks);
  const last = numPacks - 1;
  if (total === 0) return [{ number: last, pieces: [{ index: 0, begin: 0, end: 0 }] }];
  const packs = new Map<number, Piece[]>();
  let at = 0;
  for (const [index, length] of lengths.entries()) {
    for (let begin = 0, end = 0; begin < length; begin = end) {
      const number = size === 0 ? last : Math.min(Math.floor(at / size), last);
      end = number === last ? length : Math.min(length, begin + (number + 1) * size - at);
      const pieces = packs.get(number) ?? [];
      packs.set(number, pieces);
      pieces.push({ index, begin, end });
      at += end - begin;
    }
  }
  return [...packs].map(([number, pieces]) => ({ number, pieces }));
}

function evenPacks(tensors: readonly Tensor[], numPacks: number): Pack[] {
  return byDType(tensors).flatMap((alike, group) => {
    const lengths = alike.map((index) => (tensors[index] as Tensor).data.length);
    return cutEvenly(lengths, numPacks).map(({ number, pieces }) => ({
      number: group * numPacks + number,
      pieces: pieces.map((piece) => ({ ...piece, index: alike[piece.index] as number })),
    }));
  });
}

function packsBySize(tensors: readonly Tensor[], bytesPerPack: number): number[][] {
  const packs = new OpenPacks<number>(bytesPerPack);
  const closed: number[][] = [];
  for (let index = tensors.length - 1; index >= 0; index--) {
    const pack = packs.add(index, tensors[index] as Tensor);
    if (pack) closed.push(pack);
  }
  return [...closed, ...packs.rest()];
}

function numbered(packs: readonly (readonly number[])[], tensors: readonly Tensor[]): Pack[] {
  return packs.map((indices, number) => ({
    number,
    pieces: indices.map((index) => ({ index, begin: 0, end: (tensors[index] as Tensor).data.length })),
  }));
}

/** Indices of tensors grouped by dtype; groups and indices are in order of appearance. */
function byDType(tensors: readonly Tensor[]): number[][] {
  const groups = new Map<DType, number[]>();
  for (const [index, { dtype }] of tensors.entries()) {
    const alike = groups.get(dtype);
    if (alike) alike.push(index);
    else groups.set(dtype, [index]);
  }
  return [...groups.values()];
}
