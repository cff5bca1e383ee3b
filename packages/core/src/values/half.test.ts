import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bfloat16Of, float16Of, float16Values, fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from './half.js';

interface Format {
  readonly encode: (value: number) => number;
  readonly decode: (bits: number) => number;
  readonly fractionBits: number;
  readonly bias: number;
}

const formats: readonly (readonly [name: string, format: Format])[] = [
  ['float16', { encode: toFloat16, decode: fromFloat16, fractionBits: 10, bias: 15 }],
  ['bfloat16', { encode: toBfloat16, decode: fromBfloat16, fractionBits: 7, bias: 127 }],
];

const everyPattern = Array.from({ length: 0x10000 }, (_, bits) => bits);

/** Decodes bits by the definition of IEEE 754, with arithmetic on numbers only. */
function meaningOf(bits: number, { fractionBits, bias }: Format): number {
  const sign = bits >= 0x8000 ? -1 : 1;
  const magnitude = bits % 0x8000;
  const exponent = Math.floor(magnitude / 2 ** fractionBits);
  const fraction = (magnitude % 2 ** fractionBits) / 2 ** fractionBits;
  if (exponent === 2 * bias + 1) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** (1 - bias) : sign * (1 + fraction) * 2 ** (exponent - bias);
}

function infinityOf({ fractionBits, bias }: Format): number {
  return (2 * bias + 1) * 2 ** fractionBits;
}

/**
 * The middle between two neighbouring values, above which values are rounded up. It is exact,
 * because it needs only one bit more than its neighbours.
 */
function middleAfter(bits: number, format: Format): number {
  // The neighbour of the largest finite value is the next value of a format with one more exponent.
  const next = bits + 1 === infinityOf(format) ? 2 ** (format.bias + 1) : meaningOf(bits + 1, format);
  return meaningOf(bits, format) / 2 + next / 2;
}

/** Rounds by comparing with the two neighbouring values, instead of by arithmetic on bits. */
function nearest(value: number, format: Format): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  let [below, above] = [0, infinityOf(format)];
  if (magnitude === Number.POSITIVE_INFINITY) return sign + above;
  while (above - below > 1) {
    const between = Math.floor((below + above) / 2);
    if (meaningOf(between, format) <= magnitude) below = between;
    else above = between;
  }
  const middle = middleAfter(below, format);
  const roundsUp = magnitude > middle || (magnitude === middle && below % 2 === 1);
  return sign + below + (roundsUp ? 1 : 0);
}

/** The doubles right before and after a positive one. */
function aroundDouble(value: number): [before: number, after: number] {
  const floats = new Float64Array([value]);
  const bits = new BigInt64Array(floats.buffer);
  const shifted = (by: bigint) => {
    bits[0] = (bits[0] as bigint) + by;
    return floats[0] as number;
  };
  const before = shifted(-1n);
  return [before, shifted(2n)];
}

function bitsOfFloat32(value: number): number {
  return new Uint32Array(new Float32Array([value]).buffer)[0] as number;
}

describe.each(formats)('the 16-bit float dtype %s', (_, format) => {
  const { encode, decode } = format;

  it('decodes every bit pattern as IEEE 754 defines', () => {
    expect(everyPattern.filter((bits) => !Object.is(decode(bits), meaningOf(bits, format)))).toEqual([]);
  });

  it('encodes every decoded pattern as the same bits, and every NaN as a NaN', () => {
    const lost = everyPattern.filter((bits) => {
      const value = decode(bits);
      const again = encode(value);
      return Number.isNaN(value) ? !Number.isNaN(decode(again)) : again !== bits;
    });
    expect(lost).toEqual([]);
  });

  it('rounds numbers halfway between two values to even, and numbers next to them to the nearest value', () => {
    const wrong: number[] = [];
    for (let bits = 0; bits < infinityOf(format); bits++) {
      const middle = middleAfter(bits, format);
      const [before, after] = aroundDouble(middle);
      const even = bits + (bits % 2);
      const isRight = encode(before) === bits && encode(middle) === even && encode(after) === bits + 1;
      const isRightBelow = encode(-before) === bits + 0x8000 && encode(-middle) === even + 0x8000;
      if (!isRight || !isRightBelow) wrong.push(bits);
    }
    expect(wrong).toEqual([]);
  });

  it('rounds any number to the nearest value', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), (value) => {
        expect(encode(value)).toBe(nearest(value, format));
      }),
      { numRuns: 1000 },
    );
  });

  it('rounds numbers in its own range to the nearest value', () => {
    const largest = meaningOf(infinityOf(format) - 1, format);
    fc.assert(
      fc.property(fc.double({ min: -1, max: 1, noNaN: true }), fc.integer({ min: -25, max: 17 }), (part, exponent) => {
        const value = Math.abs(part) < 1e-30 ? part * largest : part * 2 ** exponent;
        expect(encode(value)).toBe(nearest(value, format));
      }),
      { numRuns: 1000 },
    );
  });

  it('preserves infinities, signed zeros and NaN', () => {
    expect([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0].map(encode).map(decode)).toEqual([
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      0,
      -0,
    ]);
    expect(decode(encode(Number.NaN))).toBeNaN();
  });

  it('rounds too large numbers to infinity and too small numbers to zero', () => {
    const smallest = meaningOf(1, format);
    expect(decode(encode(Number.MAX_VALUE))).toBe(Number.POSITIVE_INFINITY);
    expect(decode(encode(-Number.MAX_VALUE))).toBe(Number.NEGATIVE_INFINITY);
    expect(decode(encode(Number.MIN_VALUE))).toBe(0);
    expect(decode(encode(-smallest / 2))).toBe(-0);
    expect(decode(encode(smallest * 0.50001))).toBe(smallest);
  });
});

it.each([
  ['float16', float16Of, toFloat16],
  ['bfloat16', bfloat16Of, toBfloat16],
] as const)(
  'rounding the bits of a float32 to %s gives the same result as rounding its number',
  (_, fromBits, fromNumber) => {
    fc.assert(
      fc.property(fc.float({ noNaN: true }), (value) => {
        expect(fromBits(bitsOfFloat32(value))).toBe(fromNumber(value));
      }),
      { numRuns: 1000 },
    );
  },
);

it.each([
  ['float16', float16Of, fromFloat16],
  ['bfloat16', bfloat16Of, fromBfloat16],
] as const)('rounding never turns a NaN payload into an infinity of %s', (_, fromBits, decode) => {
  for (const payload of [1, 0x1fff, 0x2000, 0xffff, 0x10000, 0x3fffff, 0x400000, 0x7fffff]) {
    for (const sign of [0, 0x80000000]) expect(decode(fromBits(sign + 0x7f800000 + payload))).toBeNaN();
  }
});

it('decoding a 16-bit float reads only the lower 16 bits of an integer', () => {
  expect(fromFloat16(0x13c00)).toBe(1);
  expect(fromBfloat16(0x13f80)).toBe(1);
});

it('the table of float16 values is created once', () => {
  expect(float16Values()).toBe(float16Values());
  expect(float16Values()).toHaveLength(0x10000);
});
