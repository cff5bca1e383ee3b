import type { CollectiveOp, DType, TypedArray } from '@coll/core';
import { byteSize, viewOf } from '@coll/core/plugin';
import { halfFormatOf } from './half-format.js';
import { type Plain, storedOf } from './plain-arithmetic.js';

/**
 * The kind of numbers in the inputs of ranks. `rough`: arbitrary numbers, whose sums depend on the
 * order of arithmetic. `whole`: numbers whose sums and products are exact in any order. `special`:
 * NaN, infinities, zeros of both signs, the largest and the smallest numbers. `special whole`:
 * special numbers whose sums and products are exact in any order.
 */
export type Flavour = 'rough' | 'whole' | 'special' | 'special whole';

/**
 * The length of the shortest `special` input that contains every pair of special values on the
 * first two ranks, and each special value on all ranks at once.
 */
export const specialLength = 110;

export interface Contributor {
  readonly flavour: Flavour;
  readonly dtype: DType;
  readonly op: CollectiveOp | undefined;
  readonly rank: number;
}

/** Fills a rank's input. An element depends on its index, but not on the length of the input. */
export function contribute(into: TypedArray, contributor: Contributor): void {
  (into as Float32Array).set(contributionsOf(contributor, into.length).subarray(0, into.length) as Float32Array);
}

const made = new Map<string, TypedArray>();

/** Returns at least `length` elements of the input of a rank. Elements are cached between calls. */
function contributionsOf(contributor: Contributor, length: number): TypedArray {
  const { flavour, dtype, op, rank } = contributor;
  const key = `${flavour} ${dtype} ${op === 'product' || op === 'mean' ? op : ''} ${rank}`;
  const known = made.get(key);
  if (known && known.length >= length) return known;
  const room = Math.max(256, 2 * (known?.length ?? 0), length);
  const elements = viewOf(dtype, new ArrayBuffer(room * byteSize(dtype)), 0, room);
  for (let at = 0; at < room; at++) elements[at] = elementOf(contributor, at) as number;
  made.set(key, elements);
  return elements;
}

function elementOf({ flavour, dtype, op, rank }: Contributor, at: number): Plain {
  const random = scrambled(rank, at);
  if (dtype === 'bool') return random % 2;
  if (flavour.startsWith('special')) return digitValue(specialsFor(flavour, dtype, op), rank, at);
  if (!dtype.includes('float')) return integerOf(flavour, dtype, op, random, scrambled(at, rank + 100));
  return storedOf(dtype, flavour === 'rough' ? roughOf(op, random) : wholeOf(op, random));
}

function roughOf(op: CollectiveOp | undefined, random: number): number {
  const sign = random % 2 === 0 ? 1 : -1;
  const fraction = 1 + random / 2 ** 32;
  // Different magnitudes make sums lose bits; factors near 1 keep products in range.
  return sign * fraction * (op === 'product' ? 2 ** -(random % 3 === 0 ? 1 : 0) : 2 ** ((random % 13) - 6));
}

function wholeOf(op: CollectiveOp | undefined, random: number): number {
  return op === 'product' ? ([1, -1, 2, -1] as const)[(random % 4) as 0 | 1 | 2 | 3] : (random % 19) - 9;
}

// Sums and products of integers are exact in any order, because they wrap around.
function integerOf(flavour: Flavour, dtype: DType, op: CollectiveOp | undefined, low: number, high: number): Plain {
  if (flavour === 'whole' && isRounded(dtype, op)) return storedOf(dtype, BigInt(high % 2 ** 24) * 2n ** 40n);
  return storedOf(dtype, BigInt(high) * 2n ** 32n + BigInt(low));
}

/** Whether sums of a dtype of integers are rounded: those of 64 bits for a mean, which is float64. */
function isRounded(dtype: DType, op: CollectiveOp | undefined): boolean {
  return op === 'mean' && (dtype === 'int64' || dtype === 'uint64');
}

function specialsFor(flavour: Flavour, dtype: DType, op: CollectiveOp | undefined): readonly Plain[] {
  const all = specialsOf(dtype);
  if (flavour === 'special') return all;
  if (isRounded(dtype, op)) return longSpecials.map((value) => storedOf(dtype, value));
  return dtype.includes('float') ? all.slice(0, orderlessSpecials) : all;
}

function digitValue(values: readonly Plain[], rank: number, at: number): Plain {
  const count = values.length;
  if (at >= count * count) return values[at % count] as Plain;
  return values[digitOf(rank, at, count) % count] as Plain;
}

// Rank 0 uses the low digit of the index and rank 1 the high digit, so every pair of values occurs.
function digitOf(rank: number, at: number, count: number): number {
  if (rank > 1) return scrambled(rank, at);
  return rank === 0 ? at : Math.floor(at / count);
}

const specials = new Map<DType, readonly Plain[]>();

function specialsOf(dtype: DType): readonly Plain[] {
  const known = specials.get(dtype);
  if (known) return known;
  const made = (dtype.includes('float') ? floatSpecials(dtype) : integerSpecials).map((value) =>
    storedOf(dtype, value),
  );
  specials.set(dtype, made);
  return made;
}

function floatSpecials(dtype: DType): readonly number[] {
  const [largest, smallest] = limitsOf(dtype);
  const infinity = Number.POSITIVE_INFINITY;
  return [Number.NaN, infinity, -infinity, 0, -0, 1, -2, largest, smallest, -smallest];
}

// The first values of `floatSpecials`, whose sums and products are exact in any order.
const orderlessSpecials = 7;

const integerSpecials: readonly bigint[] = [
  0n,
  1n,
  -1n,
  2n,
  2n ** 7n - 1n,
  2n ** 15n,
  2n ** 31n - 1n,
  2n ** 32n - 1n,
  2n ** 63n - 1n,
  2n ** 63n,
];

// 64-bit integers whose sums are exact in float64, but exceed 64 bits.
const longSpecials: readonly bigint[] = [0n, 2n ** 40n, -(2n ** 40n), 2n ** 62n, 2n ** 63n];

function limitsOf(dtype: DType): readonly [largest: number, smallest: number] {
  if (dtype === 'float64') return [Number.MAX_VALUE, Number.MIN_VALUE];
  const { fractionBits, minExponent, maxExponent } = halfFormatOf(dtype) ?? {
    fractionBits: 23,
    minExponent: -126,
    maxExponent: 127,
  };
  return [(2 - 2 ** -fractionBits) * 2 ** maxExponent, 2 ** (minExponent - fractionBits)];
}

/** A hash of two numbers: 32 pseudo-random bits. */
function scrambled(a: number, b: number): number {
  let bits = Math.imul(a + 1, 0x9e3779b1) ^ Math.imul(b + 1, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
  return (bits ^ (bits >>> 15)) >>> 0;
}
