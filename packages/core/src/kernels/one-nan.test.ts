import { expect, it } from 'vitest';
import { byteSize, type DType, viewOf } from '../values/dtype.js';
import { settleNaNs } from './one-nan.js';

const bytes = new Uint8Array(64);
const memory = {
  elements: (dtype: DType) => viewOf(dtype, bytes.buffer, 0, bytes.length / byteSize(dtype)),
  reserve: () => 0,
};

it.each([
  { dtype: 'float16', integers: 'uint16', bits: [0xfe00, 0x7c01, 0x7c00, 0x8000, 0x3c00], settled: 0x7e00 },
  { dtype: 'bfloat16', integers: 'uint16', bits: [0xffc1, 0x7f81, 0xff80, 0x8000, 0x3f80], settled: 0x7fc0 },
  {
    dtype: 'float32',
    integers: 'uint32',
    bits: [0xffc00000, 0x7fc00001, 0xff800000, 0x80000000, 0x3f800000],
    settled: 0x7fc00000,
  },
  {
    dtype: 'float64',
    integers: 'uint64',
    bits: [0xfff8000000000000n, 0x7ff8000000000001n, 0xfff0000000000000n, 0x8000000000000000n, 0x3ff0000000000000n],
    settled: 0x7ff8000000000000n,
  },
] as const)(
  'the NaN kernel canonicalises NaNs of $dtype and changes no other values',
  ({ dtype, integers, bits, settled }) => {
    const elements = memory.elements(integers);
    // The first and last elements are outside the range, and must not change.
    const all = [bits[0], ...bits, bits[1]];
    all.forEach((element, index) => {
      elements[index] = element;
    });
    settleNaNs(memory, dtype, elements.BYTES_PER_ELEMENT, bits.length);
    expect([...elements.subarray(0, all.length)]).toEqual([bits[0], settled, settled, ...bits.slice(2), bits[1]]);
  },
);

it('the NaN kernel does not change integers', () => {
  const elements = memory.elements('uint32');
  elements[0] = 0xffc00000;
  settleNaNs(memory, 'uint32', 0, 1);
  expect(elements[0]).toBe(0xffc00000);
});
