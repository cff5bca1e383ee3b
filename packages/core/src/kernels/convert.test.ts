import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryArray } from '../../test/arbitrary-tensor.js';
import { accumulatorOf } from '../collectives/collective.js';
import { allocate, dtypes, isFloating, isHalf } from '../values/dtype.js';
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from '../values/half.js';
import { copyRange, narrowKernel, widenKernel } from './convert.js';

const halves = [
  ['float16', fromFloat16, toFloat16],
  ['bfloat16', fromBfloat16, toBfloat16],
] as const;

const everyPattern = Uint16Array.from({ length: 0x10000 }, (_, bits) => bits);

describe.each(halves)('conversion of %s', (dtype, decode, encode) => {
  it('widens every bit pattern to the float32 of the same value', () => {
    const wide = new Float32Array(0x10000);
    widenKernel(dtype, 'sum')(wide, 0, everyPattern, 0, 0x10000);
    expect(everyPattern.filter((bits) => !Object.is(wide[bits], decode(bits)))).toEqual(new Uint16Array());
  });

  it('narrows widened values to the same bits, except NaN', () => {
    const [wide, narrow] = [new Float32Array(0x10000), new Uint16Array(0x10000)];
    widenKernel(dtype, 'mean')(wide, 0, everyPattern, 0, 0x10000);
    narrowKernel(dtype)(narrow, 0, wide, 0, 0x10000);
    const numbers = everyPattern.filter((bits) => !Number.isNaN(decode(bits)));
    expect(numbers.filter((bits) => narrow[bits] !== bits)).toEqual(new Uint16Array());
  });

  it('rounds a float32 to the same bits as the function that encodes a number', () => {
    fc.assert(
      fc.property(fc.float32Array({ noNaN: true }), (floats) => {
        const narrow = new Uint16Array(floats.length);
        narrowKernel(dtype)(narrow, 0, floats, 0, floats.length);
        expect([...narrow]).toEqual(Array.from(floats, encode));
      }),
    );
  });

  it('reads and writes only its ranges, including in views with an offset', () => {
    const memory = new ArrayBuffer(64);
    const wide = new Float32Array(memory, 16, 4);
    widenKernel(dtype, 'sum')(wide, 1, Uint16Array.of(0, 0, encode(1.5), encode(-2)), 2, 2);
    expect([...new Float32Array(memory)].slice(4, 8)).toEqual([0, 1.5, -2, 0]);
    const narrow = new Uint16Array(4);
    narrowKernel(dtype)(narrow, 2, wide, 1, 2);
    expect([...narrow]).toEqual([0, 0, encode(1.5), encode(-2)]);
  });
});

describe.each(dtypes.filter((dtype) => !isHalf(dtype)))('conversion of %s', (dtype) => {
  it('copies elements unchanged in both directions', () => {
    fc.assert(
      fc.property(arbitraryArray(dtype, 5), (from) => {
        for (const kernel of [widenKernel(dtype, 'sum'), narrowKernel(dtype)]) {
          const into = allocate(dtype, 7);
          kernel(into, 2, from, 1, 3);
          const expected = allocate(dtype, 7);
          for (let index = 0; index < 3; index++) expected[2 + index] = from[1 + index] as number;
          expect(into).toEqual(expected);
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe.each(dtypes.filter((dtype) => !isFloating(dtype) && dtype !== 'bool'))(
  'conversion of %s for a mean',
  (dtype) => {
    it('converts integers to the nearest floats', () => {
      fc.assert(
        fc.property(arbitraryArray(dtype, 5), (from) => {
          const into = allocate(accumulatorOf(dtype, 'mean'), 7);
          widenKernel(dtype, 'mean')(into, 2, from, 1, 3);
          expect([...into]).toEqual([0, 0, ...Array.from(from.subarray(1, 4), Number), 0, 0]);
        }),
        { numRuns: 20 },
      );
    });
  },
);

describe('copyRange', () => {
  it('copies between overlapping ranges of one array in both directions', () => {
    const forward = Int8Array.of(1, 2, 3, 4, 5);
    copyRange(forward, 1, forward, 0, 4);
    expect([...forward]).toEqual([1, 1, 2, 3, 4]);
    const backward = Int8Array.of(1, 2, 3, 4, 5);
    copyRange(backward, 0, backward, 1, 4);
    expect([...backward]).toEqual([2, 3, 4, 5, 5]);
  });

  it('copies between two arrays over overlapping memory', () => {
    const memory = Int8Array.of(1, 2, 3, 4, 5);
    copyRange(memory, 1, new Int8Array(memory.buffer), 0, 4);
    expect([...memory]).toEqual([1, 1, 2, 3, 4]);
  });

  it('copies nothing for an empty range', () => {
    const into = Int8Array.of(1, 2);
    copyRange(into, 2, Int8Array.of(3), 1, 0);
    copyRange(into, 0, into, 1, 0);
    expect([...into]).toEqual([1, 2]);
  });
});
