import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryShape, arbitraryTensor } from '../../test/arbitrary-tensor.js';
import { thrown } from '../../test/thrown.js';
import { extractRanges } from '../packing/small-ranges.js';
import { type DType, dtypes } from '../values/dtype.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { AggregateSmallTensorPacker } from './small-tensor-packer.js';

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Number of elements of each pack, in order. */
function packedLengths(packer: AggregateSmallTensorPacker, tensors: readonly Tensor[]): number[] {
  return packer.pack([tensors])[0]?.map(({ data }) => data.length) as number[];
}

const floats = (...lengths: readonly number[]) => lengths.map((length) => zeros('float32', [length]));

describe('extractRanges', () => {
  it.each<readonly [number[], [number, number][], number[]]>([
    [[], [], []],
    [[5], [], [5]],
    [[1, 2], [[1, 2]], []],
    [[1, 3, 5], [], [1, 3, 5]],
    [
      [0, 1, 2, 4, 6, 7],
      [
        [0, 2],
        [6, 7],
      ],
      [4],
    ],
  ])('finds the consecutive ranges of %j', (indices, ranges, singles) => {
    expect(extractRanges(indices)).toEqual({ ranges, singles });
  });

  it('allows a range to exceed the limit by two indices', () => {
    expect(extractRanges(upTo(12), 10)).toEqual({ ranges: [[0, 11]], singles: [] });
    expect(extractRanges(upTo(13), 10)).toEqual({ ranges: [[0, 11]], singles: [12] });
    expect(extractRanges(upTo(25), 10)).toEqual({
      ranges: [
        [0, 11],
        [12, 23],
      ],
      singles: [24],
    });
  });

  it('uses a default limit of 32', () => {
    expect(extractRanges(upTo(35)).ranges).toEqual([[0, 33]]);
  });

  it('puts every index into at most one range, none of which is too long', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 60 })), fc.integer({ min: 1, max: 12 }), (set, limit) => {
        const indices = set.sort((a, b) => a - b);
        const { ranges, singles } = extractRanges(indices, limit);
        const inRanges = ranges.flatMap(([first, last]) => upTo(last - first + 1).map((step) => first + step));
        expect([...inRanges, ...singles].sort((a, b) => a - b)).toEqual(indices);
        for (const [first, last] of ranges) {
          expect(last).toBeGreaterThan(first);
          expect(last - first + 1).toBeLessThanOrEqual(limit + 2);
        }
      }),
    );
  });
});

describe('AggregateSmallTensorPacker', () => {
  it('joins neighbouring small float32 tensors and puts them first', () => {
    const packer = new AggregateSmallTensorPacker(16, 10);
    expect(packedLengths(packer, floats(100, 1, 2, 200, 3, 4))).toEqual([3, 7, 100, 200]);
  });

  it('counts a tensor of exactly the limit as small', () => {
    expect(packedLengths(new AggregateSmallTensorPacker(16, 10), floats(4, 4, 5))).toEqual([8, 5]);
  });

  it('joins only float32 tensors', () => {
    const packer = new AggregateSmallTensorPacker(1024, 10);
    for (const dtype of dtypes.filter((name) => name !== 'float32')) {
      expect(packedLengths(packer, [zeros(dtype, [1]), zeros(dtype, [2])])).toEqual([1, 2]);
    }
  });

  it('does not join small tensors without a small neighbour', () => {
    const packer = new AggregateSmallTensorPacker(16, 10);
    expect(packedLengths(packer, floats(1, 100, 2))).toEqual([1, 100, 2]);
    const tensors = floats(1, 100);
    expect(packer.pack([tensors])[0]?.every((tensor, index) => tensor === tensors[index])).toBe(true);
  });

  it('allows a pack to exceed its maximum number of tensors by two', () => {
    const packer = new AggregateSmallTensorPacker(16, 2);
    expect(packedLengths(packer, floats(1, 1, 1, 1, 1, 1))).toEqual([4, 2]);
  });

  it('joins tensors of up to one mebibyte, and at most 18 of them, by default', () => {
    const packer = new AggregateSmallTensorPacker();
    expect(packedLengths(packer, floats(...upTo(20).map(() => 1)))).toEqual([18, 2]);
    expect(packedLengths(packer, floats(2 ** 18, 1, 2 ** 18 + 1))).toEqual([2 ** 18 + 1, 2 ** 18 + 1]);
  });

  it('joins on all devices the tensors that are small on the first device', () => {
    const packer = new AggregateSmallTensorPacker(16, 10);
    const packed = packer.pack([floats(1, 1), floats(100, 100)]);
    expect(packed.map((packs) => packs.map(({ data }) => data.length))).toEqual([[2], [200]]);
  });

  it('unpacks the values that it packed, for any dtypes, shapes and limits', () => {
    const dtype = fc.oneof({ arbitrary: fc.constant<DType>('float32'), weight: 3 }, fc.constantFrom(...dtypes));
    const form = fc.tuple(dtype, arbitraryShape);
    const perDevice = fc.array(form, { maxLength: 12 }).chain((forms) => {
      const list = fc.tuple(...forms.map(([of, shape]) => arbitraryTensor(of, shape, 'cpu:0')));
      return fc.array(list, { minLength: 1, maxLength: 3 });
    });
    const limit = fc.integer({ min: 1, max: 40 });
    fc.assert(
      fc.property(perDevice, limit, fc.integer({ min: 1, max: 5 }), (lists, maxBytes, maxGroup) => {
        const packer = new AggregateSmallTensorPacker(maxBytes, maxGroup);
        expect(packer.unpack(packer.pack(lists))).toEqual(lists);
      }),
    );
  });

  it.each([
    [0, 1, 'maxBytes'],
    [-1, 1, 'maxBytes'],
    [1, 0, 'maxGroup'],
    [1, -5, 'maxGroup'],
    [Number.NaN, 1, 'maxBytes'],
  ])('refuses limits of %d bytes and %d tensors', (maxBytes, maxGroup, name) => {
    expect(thrown(() => new AggregateSmallTensorPacker(maxBytes, maxGroup))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining(`${name} must be greater than zero`),
    });
  });
});
