import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryTensor } from '../../test/arbitrary-tensor.js';
import { thrown } from '../../test/thrown.js';
import { dtypes } from '../values/dtype.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { concatAlong, requireAxis } from './concat-along.js';

function at(value: Tensor, position: readonly number[]): number | bigint {
  const index = position.reduce((sum, coordinate, axis) => sum * (value.shape[axis] as number) + coordinate, 0);
  return value.data[index] as number | bigint;
}

function positionsOf(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (positions, dimension) =>
      positions.flatMap((position) => Array.from({ length: dimension }, (_, coordinate) => [...position, coordinate])),
    [[]],
  );
}

const arbitraryParts = fc
  .record({
    dtype: fc.constantFrom(...dtypes),
    shape: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 }),
    lengths: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 4 }),
    anyAxis: fc.nat(),
  })
  .chain(({ dtype, shape, lengths, anyAxis }) => {
    const axis = anyAxis % shape.length;
    const parts = lengths.map((length) => arbitraryTensor(dtype, shape.with(axis, length)));
    return fc.tuple(fc.tuple(...parts), fc.constant(axis));
  });

describe('concatAlong', () => {
  it('places every element at the offset of its part along the axis', () => {
    fc.assert(
      fc.property(arbitraryParts, ([parts, axis]) => {
        const joined = concatAlong(parts, axis);
        let begin = 0;
        for (const part of parts) {
          for (const position of positionsOf(part.shape)) {
            const target = position.with(axis, begin + (position[axis] as number));
            expect(at(joined, target)).toEqual(at(part, position));
          }
          begin += part.shape[axis] as number;
        }
        expect(joined.shape).toEqual(parts[0]?.shape.with(axis, begin));
        expect(joined.data.length).toBe(parts.reduce((sum, { data }) => sum + data.length, 0));
      }),
    );
  });

  it('concatenates rows and columns', () => {
    const [a, b] = [tensor([1, 2, 3, 4], { shape: [2, 2] }), tensor([5, 6], { shape: [1, 2] })];
    expect(concatAlong([a, b], 0)).toEqual(tensor([1, 2, 3, 4, 5, 6], { shape: [3, 2] }));
    const c = tensor([7, 8], { shape: [2, 1] });
    expect(concatAlong([a, c], 1)).toEqual(tensor([1, 2, 7, 3, 4, 8], { shape: [2, 3] }));
  });

  it('returns new memory on the device of the first part', () => {
    const one = tensor([1], { device: 'cpu:2' });
    const joined = concatAlong([one], 0);
    expect(joined).toEqual(one);
    expect(joined.data).not.toBe(one.data);
    expect(concatAlong([one, tensor([2])], 0).device).toBe('cpu:2');
  });

  it('concatenates parts without elements', () => {
    expect(concatAlong([zeros('int8', [0, 3]), zeros('int8', [0, 2])], 1)).toEqual(zeros('int8', [0, 5]));
    expect(concatAlong([zeros('int8', [2, 0]), zeros('int8', [2, 0])], 1)).toEqual(zeros('int8', [2, 0]));
  });

  it('refuses an empty list', () => {
    expect(thrown(() => concatAlong([], 0))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('must be non-empty'),
    });
  });

  it.each([
    ['another dimension than the axis', [2, 3], [2, 4], 0],
    ['ranks', [2, 3], [2, 3, 1], 0],
    ['rank, but all have the axis', [2], [2, 1], 0],
  ])('refuses parts that differ in %s', (_, first, second, axis) => {
    expect(thrown(() => concatAlong([zeros('int8', first), zeros('int8', second)], axis))).toMatchObject({
      name: 'InvalidArgumentError',
      code: 'ERR_COLL_SHAPE_MISMATCH',
      rank: 1,
      operation: 'gather',
      message: `gather along axis ${axis}: replica 0 has shape [${first}], replica 1 has [${second}]; only that axis may differ`,
    });
  });

  it('refuses parts of different dtypes', () => {
    expect(thrown(() => concatAlong([zeros('int8', [1]), zeros('uint8', [1])], 0))).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_DTYPE_MISMATCH',
      rank: 1,
      operation: 'gather',
    });
  });
});

describe('requireAxis', () => {
  it('accepts the axes of a shape', () => {
    for (const axis of [0, 1, 2]) expect(() => requireAxis(axis, [4, 5, 6])).not.toThrow();
  });

  it.each([-1, 3, 0.5, Number.NaN, '0' as never])('refuses axis %o for a shape with three axes', (axis) => {
    const error = thrown(() => requireAxis(axis, [4, 5, 6]));
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ code: 'ERR_COLL_RANGE', operation: 'gather' });
  });

  it('refuses scalars, which have no axes', () => {
    expect(thrown(() => requireAxis(0, []))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('scalars have no axis'),
    });
  });
});
