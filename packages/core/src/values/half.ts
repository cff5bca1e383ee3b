// The two 16-bit floating types, as bits in a `Uint16Array`. Encoding rounds to nearest, ties to
// even (IEEE 754). Values beyond the largest finite one become infinite; subnormals and NaNs are
// preserved.

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/**
 * The float16 bits nearest to a number.
 *
 * @example
 * ```ts
 * import { toFloat16 } from '@coll/core';
 *
 * console.log(toFloat16(1.5).toString(16)); // 3e00
 * ```
 */
export function toFloat16(value: number): number {
  return float16Of(float32BitsToOdd(value));
}

/**
 * The numeric value that these float16 bits encode.
 *
 * @example
 * ```ts
 * import { fromFloat16 } from '@coll/core';
 *
 * console.log(fromFloat16(0x3e00)); // 1.5
 * ```
 */
export function fromFloat16(bits: number): number {
  return float16Values()[bits & 0xffff] as number;
}

/**
 * The bfloat16 bits nearest to a number.
 *
 * @example
 * ```ts
 * import { toBfloat16 } from '@coll/core';
 *
 * console.log(toBfloat16(1.5).toString(16)); // 3fc0
 * ```
 */
export function toBfloat16(value: number): number {
  return bfloat16Of(float32BitsToOdd(value));
}

/**
 * The numeric value that these bfloat16 bits encode.
 *
 * @example
 * ```ts
 * import { fromBfloat16 } from '@coll/core';
 *
 * console.log(fromBfloat16(0x3fc0)); // 1.5
 * ```
 */
export function fromBfloat16(bits: number): number {
  scratchBits[0] = (bits & 0xffff) << 16;
  return scratch[0] as number;
}

// Rounding a double first to float32 and then to 16 bits could go wrong at ties. Rounding to odd
// first prevents that: the last bit of the float32 is set if any bits were cut off.
function float32BitsToOdd(value: number): number {
  scratch[0] = value;
  const nearest = scratch[0] as number;
  const bits = scratchBits[0] as number;
  if (Object.is(nearest, value) || Number.isNaN(value)) return bits;
  return (Math.abs(nearest) > Math.abs(value) ? bits - 1 : bits) | 1;
}

/** Rounds float32 bits to float16 bits. */
export function float16Of(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | ((magnitude >>> 13) & 0x1ff);
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rebiased = magnitude - 0x38000000;
    return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
  }
  if (magnitude <= 0x33000000) return sign;
  // Subnormal: the unit is 2^-24, so the significand moves right by 126 minus the exponent.
  const shift = 126 - (magnitude >>> 23);
  const significand = (magnitude & 0x7fffff) | 0x800000;
  const kept = significand >>> shift;
  const rest = significand & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (kept + (rest > half || (rest === half && (kept & 1) === 1) ? 1 : 0));
}

/** Rounds float32 bits to bfloat16 bits. */
export function bfloat16Of(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

let decoded: Float32Array | undefined;

/**
 * Every float16 value, indexed by its bits. The table (256 KiB) is built at first use; a look-up is
 * eight times as fast as decoding.
 */
export function float16Values(): Float32Array {
  decoded ??= Float32Array.from({ length: 0x10000 }, (_, bits) => decodeFloat16(bits));
  return decoded;
}

function decodeFloat16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
