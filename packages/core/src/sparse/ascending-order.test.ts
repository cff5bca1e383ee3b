import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryArray } from '../../test/arbitrary-tensor.js';
import type { DType } from '../values/dtype.js';
import { ascendingOrder } from './ascending-order.js';

const integers: readonly DType[] = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'];

describe.each(integers)('ascendingOrder of %s', (dtype) => {
  it('sorts ascending and is stable', () => {
    const arrays = fc.nat({ max: 40 }).chain((length) => arbitraryArray(dtype, length));
    fc.assert(
      fc.property(arrays, fc.nat({ max: 3 }), (array, doubled) => {
        // Repeats some numbers, so that some are equal.
        const data = array.slice();
        data.copyWithin(Math.max(0, data.length - doubled), 0, doubled);
        const expected = [...data.keys()].sort((a, b) => compare(data[a], data[b]) || a - b);
        expect([...ascendingOrder({ data, dtype })]).toEqual(expected);
      }),
    );
  });
});

it('ascendingOrder sorts more numbers than a radix digit has values', () => {
  const data = Int32Array.from({ length: 3000 }, (_, index) => ((index * 7919) % 1013) - 500);
  const order = ascendingOrder({ data, dtype: 'int32' });
  const expected = [...data.keys()].sort((a, b) => compare(data[a], data[b]) || a - b);
  expect([...order]).toEqual(expected);
});

function compare(a: number | bigint | undefined, b: number | bigint | undefined): number {
  return (a as number) < (b as number) ? -1 : Number((a as number) > (b as number));
}
