import type { DType } from '@coll/core';

/** A 16-bit floating-point format in the form of IEEE 754: sign, exponent, fraction. */
export interface HalfFormat {
  readonly fractionBits: number;
  /**
   * The exponent of the smallest normal number; `maxExponent` is the exponent of the largest
   * number.
   */
  readonly minExponent: number;
  readonly maxExponent: number;
}

const formats: Readonly<Record<string, HalfFormat>> = {
  float16: { fractionBits: 10, minExponent: -14, maxExponent: 15 },
  bfloat16: { fractionBits: 7, minExponent: -126, maxExponent: 127 },
};

/** The format of a half type; undefined for all other dtypes. */
export function halfFormatOf(dtype: DType): HalfFormat | undefined {
  return formats[dtype];
}

/** The number with this bit pattern. */
export function numberOfHalf(format: HalfFormat, bits: number): number {
  let numbers = decoded.get(format);
  if (!numbers) {
    numbers = Float64Array.from({ length: 2 ** 16 }, (_, each) => decode(format, each));
    decoded.set(format, numbers);
  }
  return numbers[bits] as number;
}

const decoded = new Map<HalfFormat, Float64Array>();

/** Decodes a bit pattern according to the definition of the format. */
function decode({ fractionBits, minExponent, maxExponent }: HalfFormat, bits: number): number {
  const sign = bits >= 0x8000 ? -1 : 1;
  const fraction = bits % 2 ** fractionBits;
  const biased = Math.floor((bits % 0x8000) / 2 ** fractionBits);
  if (biased === maxExponent - minExponent + 2) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  const exponent = Math.max(biased - 1, 0) + minExponent;
  const significand = fraction + (biased === 0 ? 0 : 2 ** fractionBits);
  return sign * significand * 2 ** (exponent - fractionBits);
}

/**
 * Returns the bits of the number in the format that is nearest to a value. Of two numbers that are
 * equally near, it is the one whose fraction is even. Computes with the value, not with its bits.
 */
export function halfOfNumber({ fractionBits, minExponent, maxExponent }: HalfFormat, value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const infinity = (maxExponent - minExponent + 2) * 2 ** fractionBits;
  if (Number.isNaN(value)) return infinity + 2 ** (fractionBits - 1);
  const magnitude = Math.abs(value);
  if (magnitude === Number.POSITIVE_INFINITY) return sign + infinity;
  const exponent = exponentOf(magnitude, minExponent);
  // In units of the last place. A carry into the next exponent is correct, because the fraction
  // is then 0.
  const units = roundToEven(magnitude / 2 ** (exponent - fractionBits));
  const bits = (exponent - minExponent) * 2 ** fractionBits + units;
  return sign + Math.min(bits, infinity);
}

/** The exponent of a magnitude, but at least `least`. */
function exponentOf(magnitude: number, least: number): number {
  let exponent = Math.max(Math.floor(Math.log2(magnitude)), least);
  while (exponent > least && 2 ** exponent > magnitude) exponent--;
  while (2 ** (exponent + 1) <= magnitude) exponent++;
  return exponent;
}

function roundToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest === 0.5) return below % 2 === 0 ? below : below + 1;
  return rest < 0.5 ? below : below + 1;
}
