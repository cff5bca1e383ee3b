import { type DType, IndexedSlices, tensor, toNumbers, type Value, WrongTypeError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { applyChange, type Change, changeValue } from './change.js';
import type { VariableTraits } from './variable-options.js';

const traits = (dtype: DType, shape: readonly number[]): VariableTraits => ({
  name: 'w',
  dtype,
  shape,
  trainable: true,
  synchronization: 'ON_WRITE',
  aggregation: 'NONE',
});

const slices = (dtype: DType, values: readonly number[], shape: readonly number[], indices: readonly number[]) =>
  new IndexedSlices(tensor(values, { dtype, shape }), Int32Array.from(indices));

describe('an invalid value for a change of a variable', () => {
  const matrix = traits('float32', [2, 3]);
  const rowOf = (size: number, index: number) => slices('float32', new Array(size).fill(1), [1, size], [index]);

  const refusals: readonly [VariableTraits, Change, unknown, string][] = [
    [matrix, 'assign', Float64Array.of(1), 'assign of variable "w": values must be float32, got float64'],
    [
      matrix,
      'assign',
      [1],
      'assign of variable "w": values must have shape [2,3], got [1]: tensor(data, { shape: … })',
    ],
    [matrix, 'assign', tensor([1, 1, 1, 1, 1, 1], { dtype: 'float32', shape: [3, 2] }), 'shape [2,3], got [3,2]'],
    [matrix, 'assign', tensor([1, 1], { dtype: 'float32', shape: [2] }), 'values must have shape [2,3], got [2]'],
    [
      matrix,
      'assignAdd',
      rowOf(3, 0),
      'assignAdd of variable "w": the value must be dense; pass indexed slices to its scatter methods',
    ],
    [
      traits('bool', [1]),
      'assignAdd',
      tensor([1], { dtype: 'bool' }),
      'bool variables cannot be added to or subtracted from',
    ],
    [matrix, 'scatterAdd', rowOf(2, 0), 'scatterAdd of variable "w": rows must have shape [3], got [2]'],
    // The shape of the rows has one dimension too few.
    [matrix, 'scatterAdd', slices('float32', [1], [1], [0]), 'rows must have shape [3], got []'],
    [matrix, 'scatterUpdate', rowOf(3, 2), 'scatterUpdate of variable "w": the variable has 2 rows and no row 2'],
    [matrix, 'scatterUpdate', rowOf(3, -1), 'the variable has 2 rows and no row -1'],
    [traits('float32', []), 'scatterAdd', slices('float32', [1], [1], [0]), 'a scalar has no rows to scatter to'],
    [traits('int32', [2]), 'scatterDiv', slices('int32', [1, 0], [2], [0, 1]), 'integers cannot be divided by zero'],
  ];
  it.each(refusals.map(([of, change, value, message]) => [change, message, of, value] as const))(
    'is refused by %s: %s',
    (change, message, of, value) => {
      const refused = () => changeValue(of, change, value);
      expect(refused).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }));
      expect(refused).toThrow(
        expect.objectContaining({
          code: 'ERR_COLL_VALUE',
          operation: change,
          message: expect.stringContaining(message),
        }),
      );
    },
  );

  it.each<[unknown, string]>([
    [Float32Array.of(1), 'scatterAdd of variable "w" takes IndexedSlices, got '],
    [undefined, 'scatterAdd of variable "w" takes IndexedSlices, got undefined'],
  ])('is refused by scatter methods with a WrongTypeError: %o', (value, message) => {
    const refused = () => changeValue(matrix, 'scatterAdd', value);
    expect(refused).toThrow(WrongTypeError);
    expect(refused).toThrow(
      expect.objectContaining({ operation: 'scatterAdd', message: expect.stringContaining(message) }),
    );
  });
});

describe('changing the memory of a variable', () => {
  const changed = (dtype: DType, initial: readonly number[], change: Change, value: unknown) => {
    const memory = tensor(initial, { dtype });
    applyChange(memory, change, changeValue(traits(dtype, memory.shape), change, value) as Value);
    return toNumbers(memory);
  };

  it('converts numbers and lists to the dtype of the variable', () => {
    expect(changed('int32', [1, 2], 'assign', [3, 4])).toEqual([3, 4]);
    expect(changed('float16', [1, 2], 'assignSub', [3, 4])).toEqual([-2, -2]);
  });

  it('copies bool values, which cannot be added', () => {
    expect(changed('bool', [1, 0], 'assign', tensor([0, 1], { dtype: 'bool' }))).toEqual([0, 1]);
    expect(changed('bool', [1, 0], 'scatterUpdate', slices('bool', [1], [1], [1]))).toEqual([1, 1]);
  });

  it('truncates quotients of integers, and returns infinity for floats divided by zero', () => {
    expect(changed('int32', [7, -7, 5], 'scatterDiv', slices('int32', [2, 2], [2], [0, 1]))).toEqual([3, -3, 5]);
    expect(changed('float32', [1, -1], 'scatterDiv', slices('float32', [0, 0], [2], [0, 1]))).toEqual([
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ]);
  });

  it('changes only the given rows, and a repeated row twice', () => {
    const memory = tensor([1, 2, 3, 4, 5, 6], { dtype: 'float32', shape: [3, 2] });
    const twice = slices('float32', [10, 20, 30, 40], [2, 2], [2, 2]);
    applyChange(memory, 'scatterAdd', changeValue(traits('float32', [3, 2]), 'scatterAdd', twice));
    expect(toNumbers(memory)).toEqual([1, 2, 3, 4, 45, 66]);
  });
});
