import { describe, expect, it } from 'vitest';
import type { DType } from '../values/dtype.js';
import { zeros } from '../values/tensor.js';
import { arrange, cutEvenly, type PackingOptions } from './arrangement.js';

const tensors = (lengths: readonly number[], dtype: DType = 'float32') =>
  lengths.map((length) => zeros(dtype, [length]));

/** Each pack as text: its number, and its pieces as `tensor:begin-end`. */
function packsOf(lengths: readonly number[], options: PackingOptions = {}, bytesPerPack = 0): string[] {
  return arrange(tensors(lengths), options, bytesPerPack).map(textOf);
}

function textOf({ number, pieces }: ReturnType<typeof arrange>[number]): string {
  return `${number} = ${pieces.map(({ index, begin, end }) => `${index}:${begin}-${end}`).join(' + ')}`;
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('cutEvenly', () => {
  const sizes = (lengths: readonly number[], numPacks: number) =>
    cutEvenly(lengths, numPacks).map(({ number, pieces }) => [
      number,
      pieces.reduce((sum, { begin, end }) => sum + end - begin, 0),
    ]);

  it('divides the elements evenly and gives the last pack the remainder', () => {
    expect(sizes([4, 7], 3)).toEqual([
      [0, 3],
      [1, 3],
      [2, 5],
    ]);
  });

  it('leaves the first packs empty if there are more packs than elements', () => {
    expect(sizes([2, 1], 5)).toEqual([[4, 3]]);
    expect(sizes([2, 1], 1e9)).toEqual([[1e9 - 1, 3]]);
  });

  it('keeps one empty pack for no elements, so that all ranks still communicate', () => {
    expect(cutEvenly([0, 0], 3)).toEqual([{ number: 2, pieces: [{ index: 0, begin: 0, end: 0 }] }]);
  });
});

describe('arrange()', () => {
  it('joins all values in order by default', () => {
    expect(packsOf([2, 0, 3])).toEqual(['0 = 0:0-2 + 2:0-3']);
  });

  it('may end a pack in the middle of a tensor', () => {
    expect(packsOf([4, 7], { numPacks: 3 })).toEqual(['0 = 0:0-3', '1 = 0:3-4 + 1:0-2', '2 = 1:2-7']);
  });

  it('numbers the packs of all dtypes consecutively', () => {
    const [a, b, c] = [tensors([2]), tensors([3], 'int8'), tensors([4])].flat();
    const packs = arrange([a, b, c] as never, { numPacks: 2 });
    expect(packs.map(textOf)).toEqual(['0 = 0:0-2 + 2:0-1', '1 = 2:1-4', '2 = 1:0-1', '3 = 1:1-3']);
  });

  it('keeps each tensor separate for 0 packs, including empty tensors', () => {
    expect(packsOf([2, 0, 3], { numPacks: 0 })).toEqual(['0 = 0:0-2', '1 = 1:0-0', '2 = 2:0-3']);
  });

  it('puts packs of small neighbouring tensors first, then all other tensors in order', () => {
    const packing = { numPacks: 0, aggSmallGradsMaxBytes: 8 };
    expect(packsOf([3, 1, 2, 9, 2, 3, 1, 1], packing)).toEqual([
      '0 = 1:0-1 + 2:0-2',
      '1 = 6:0-1 + 7:0-1',
      '2 = 0:0-3',
      '3 = 3:0-9',
      '4 = 4:0-2',
      '5 = 5:0-3',
    ]);
  });

  it('lets a group of small tensors exceed its limit by two, like TensorFlow', () => {
    const packs = arrange(tensors(upTo(30).map(() => 1)), { numPacks: 0, aggSmallGradsMaxBytes: 4 });
    expect(packs.map(({ pieces }) => pieces.length)).toEqual([12, 12, 6]);
  });

  it('joins only float32 tensors as small, and only if no tensor of another dtype is between them', () => {
    const values = [...tensors([1]), ...tensors([1], 'int32'), ...tensors([1, 1])];
    const packs = arrange(values, { numPacks: 0, aggSmallGradsMaxBytes: 8 });
    expect(packs.map(textOf)).toEqual(['0 = 2:0-1 + 3:0-1', '1 = 0:0-1', '2 = 1:0-1']);
  });

  it.each([
    { aggSmallGradsMaxBytes: 1000, aggSmallGradsMaxGroup: 0 },
    { aggSmallGradsMaxBytes: 1000, aggSmallGradsMaxGroup: -1 },
    { aggSmallGradsMaxBytes: 0 },
    { aggSmallGradsMaxBytes: -1 },
  ])('joins no small neighbouring tensors with %o', (packing) => {
    const apart = ['0 = 0:0-0', '1 = 1:0-0', '2 = 2:0-1', '3 = 3:0-1'];
    expect(packsOf([0, 0, 1, 1], { numPacks: 0, ...packing })).toEqual(apart);
  });

  it('packs by bytes, last values first, if a call sets bytesPerPack', () => {
    expect(packsOf([2, 2, 10, 15], { numPacks: 3 }, 100)).toEqual(['0 = 3:0-15 + 2:0-10 + 1:0-2', '1 = 0:0-2']);
  });

  it('orders packs of several dtypes by which pack is full first', () => {
    const values = [...tensors([1]), ...tensors([9, 9], 'int8'), ...tensors([2, 2])];
    expect(arrange(values, {}, 10).map(textOf)).toEqual(['0 = 4:0-2 + 3:0-2', '1 = 2:0-9 + 1:0-9', '2 = 0:0-1']);
  });

  it('returns no packs for an empty list of values', () => {
    for (const packing of [{}, { numPacks: 3 }, { numPacks: 0 }]) expect(arrange([], packing)).toEqual([]);
    expect(arrange([], {}, 5)).toEqual([]);
  });
});
