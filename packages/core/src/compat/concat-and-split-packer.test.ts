import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryShape, arbitraryTensor } from '../../test/arbitrary-tensor.js';
import { thrown } from '../../test/thrown.js';
import { dtypes } from '../values/dtype.js';
import { tensor, zeros } from '../values/tensor.js';
import { ConcatAndSplitPacker } from './concat-and-split-packer.js';

const arbitraryPerDevice = fc
  .record({
    dtype: fc.constantFrom(...dtypes),
    shapes: fc.array(arbitraryShape, { minLength: 1, maxLength: 5 }),
    devices: fc.integer({ min: 1, max: 3 }),
  })
  .chain(({ dtype, shapes, devices }) =>
    fc.tuple(
      ...Array.from({ length: devices }, (_, device) =>
        fc.tuple(...shapes.map((shape) => arbitraryTensor(dtype, shape, `cpu:${device}`))),
      ),
    ),
  );

describe('ConcatAndSplitPacker', () => {
  it.each<readonly [number, number, number[]]>([
    [11, 3, [3, 3, 5]],
    [3, 5, [0, 0, 0, 0, 3]],
    [8, 1, [8]],
    [8, 4, [2, 2, 2, 2]],
    [0, 2, [0, 0]],
  ])('splits %i elements into %i packs of %j', (length, numPacks, lengths) => {
    const [packs] = new ConcatAndSplitPacker(numPacks).pack([[zeros('float32', [length])]]);
    expect(packs?.map(({ data }) => data.length)).toEqual(lengths);
  });

  it('may end a pack in the middle of a tensor', () => {
    const packed = new ConcatAndSplitPacker(2).pack([[tensor([1, 2, 3], { device: 'cpu:0' }), tensor([4, 5])]]);
    expect(packed).toEqual([[tensor([1, 2], { device: 'cpu:0' }), tensor([3, 4, 5], { device: 'cpu:0' })]]);
  });

  it('unpacks the values that it packed, for any shapes, dtype and number of packs', () => {
    fc.assert(
      fc.property(arbitraryPerDevice, fc.integer({ min: 1, max: 7 }), (perDevice, numPacks) => {
        const packer = new ConcatAndSplitPacker(numPacks);
        const packed = packer.pack(perDevice);
        expect(packed.map((packs) => packs.length)).toEqual(perDevice.map(() => numPacks));
        expect(packer.unpack(packed)).toEqual(perDevice);
      }),
    );
  });

  it('unpacks results that are in separate buffers and have another dtype', () => {
    const packer = new ConcatAndSplitPacker(2);
    packer.pack([[tensor([1, 2], { dtype: 'int32', shape: [2, 1] }), tensor(3, { dtype: 'int32' })]]);
    const results = [[tensor([0.5]), tensor([1, 1.5])]];
    expect(packer.unpack(results)).toEqual([[tensor([0.5, 1], { shape: [2, 1] }), tensor(1.5)]]);
  });

  it('does not change its inputs, and packs into new memory', () => {
    const whole = tensor([1, 2, 3]);
    const [packs] = new ConcatAndSplitPacker(1).pack([[whole]]);
    packs?.[0]?.data.set([9, 9, 9] as never);
    expect(packs?.[0]).toEqual(tensor([9, 9, 9]));
    expect(whole).toEqual(tensor([1, 2, 3]));
  });

  it.each([0, -1, Number.NaN])('refuses %d packs', (numPacks) => {
    expect(thrown(() => new ConcatAndSplitPacker(numPacks))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: `numPacks must be greater than zero, got ${numPacks}`,
    });
  });

  it('refuses to unpack another number of elements than it packed', () => {
    const packer = new ConcatAndSplitPacker(1);
    packer.pack([[tensor([1, 2, 3])]]);
    expect(thrown(() => packer.unpack([[tensor([1, 2])]]))).toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_INTERNAL',
      message: 'got 2 elements to unpack, but 3 were packed',
    });
  });

  it('refuses to pack tensors of different dtypes together', () => {
    const mixed = [tensor([1]), tensor([1], { dtype: 'int8' })];
    expect(thrown(() => new ConcatAndSplitPacker(1).pack([mixed]))).toMatchObject({ name: 'AssertionError' });
  });
});
