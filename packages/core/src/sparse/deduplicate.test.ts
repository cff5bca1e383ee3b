import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { toNumbers } from '../values/element.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { tensor, zeros } from '../values/tensor.js';
import { deduplicate, deduplicatedMean } from './deduplicate.js';
import { densify } from './densify.js';

describe('deduplicate()', () => {
  it('refuses dense values', () => {
    expect(thrown(() => deduplicate(tensor([1]) as never))).toMatchObject({ name: 'TypeError', code: 'ERR_COLL_TYPE' });
  });

  it('sums rows with the same index and sorts the indices', () => {
    const values = tensor([1, 2, 3, 4, 10, 20], { shape: [3, 2], device: 'cpu:1' });
    const unique = deduplicate(new IndexedSlices(values, Int16Array.of(7, -2, 7), [9, 2]));
    expect(unique.values).toEqual(tensor([3, 4, 11, 22], { shape: [2, 2], device: 'cpu:1' }));
    expect(unique.indices).toEqual(tensor(Int16Array.of(-2, 7)));
    expect(unique.denseShape).toEqual([9, 2]);
    expect(values.data).toEqual(Float64Array.of(1, 2, 3, 4, 10, 20));
  });

  it('returns, for each index, the sum of its rows', () => {
    const entries = fc.array(fc.tuple(fc.bigInt({ min: -3n, max: 3n }), fc.integer({ min: -9, max: 9 })));
    fc.assert(
      fc.property(entries, fc.constantFrom(0n, 2n ** 31n, 2n ** 53n, -(2n ** 62n)), (list, base) => {
        const indices = BigInt64Array.from(list, ([index]) => index + base);
        const numbers = list.map(([, number]) => number);
        const unique = deduplicate(new IndexedSlices(tensor(numbers), indices));
        const sums = new Map<bigint, number>();
        for (const [position, index] of indices.entries())
          sums.set(index, (sums.get(index) ?? 0) + (numbers[position] as number));
        const expected = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
        expect([...unique.indices.data]).toEqual(expected.map(([index]) => index));
        expect([...unique.values.data].map((sum) => Number(sum) + 0)).toEqual(expected.map(([, sum]) => sum + 0));
      }),
    );
  });

  it('keeps the bits of the dense tensor that the slices represent', () => {
    const values = Float32Array.from({ length: 60 }, (_, index) => Math.sin(index) * 10 ** (index % 7));
    const indices = Uint32Array.from({ length: 20 }, (_, index) => (index * index) % 7);
    const slices = new IndexedSlices(tensor(values, { shape: [20, 3] }), indices, [7, 3]);
    expect(densify(deduplicate(slices))).toEqual(densify(slices));
  });

  it.each(['float16', 'bfloat16'] as const)('accumulates %s in float32 and rounds once', (dtype) => {
    const large = dtype === 'float16' ? 2048 : 256;
    const values = tensor([large, 1, 1, 1, 1], { dtype, shape: [5] });
    expect(toNumbers(deduplicate(new IndexedSlices(values, new Int32Array(5))).values)).toEqual([large + 4]);
  });

  it('wraps integers around on overflow, and combines bool with or', () => {
    const bytes = new IndexedSlices(tensor(Uint8Array.of(200, 100)), new Int32Array(2));
    expect(deduplicate(bytes).values.data).toEqual(Uint8Array.of(44));
    const flags = new IndexedSlices(tensor([1, 1, 0], { dtype: 'bool', shape: [3] }), Int32Array.of(0, 0, 1));
    expect(deduplicate(flags).values).toEqual(tensor([1, 0], { dtype: 'bool', shape: [2] }));
  });

  it('accepts values without rows, and rows without elements', () => {
    const none = new IndexedSlices(zeros('float32', [0, 3]), new Int32Array(0), [5, 3]);
    expect(deduplicate(none)).toEqual(none);
    const empty = new IndexedSlices(zeros('float32', [3, 0]), Int32Array.of(2, 1, 2));
    expect(deduplicate(empty)).toEqual(new IndexedSlices(zeros('float32', [2, 0]), Int32Array.of(1, 2)));
  });
});

describe('deduplicatedMean', () => {
  it('divides the sum of the rows of each index, and rounds only once', () => {
    const thirds = new IndexedSlices(tensor(Int32Array.of(1, 1, 1, 5)), Int32Array.of(4, 4, 4, 0));
    expect(deduplicatedMean(thirds, 3)).toEqual(new IndexedSlices(tensor([5 / 3, 1]), Int32Array.of(0, 4)));
    const bytes = new IndexedSlices(tensor(Uint8Array.of(200, 200)), new Int32Array(2));
    expect(deduplicatedMean(bytes, 2).values).toMatchObject({ dtype: 'float32', data: Float32Array.of(200) });
    const large = new IndexedSlices(tensor([60000, 60000], { dtype: 'float16', shape: [2] }), new Int32Array(2));
    expect(toNumbers(deduplicatedMean(large, 2).values)).toEqual([60000]);
  });

  it('refuses bool', () => {
    const flags = new IndexedSlices(tensor([1], { dtype: 'bool', shape: [1] }), new Int32Array(1));
    expect(thrown(() => deduplicatedMean(flags, 2))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED' });
  });
});
