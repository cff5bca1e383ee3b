import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { concatenate, slice, splitLike } from './concatenate.js';
import { tensor, zeros } from './tensor.js';

describe('concatenate()', () => {
  it('joins all elements in new memory on the device of the first tensor', () => {
    const [a, b] = [tensor([1, 2, 3, 4], { shape: [2, 2], device: 'cpu:1' }), tensor(5)];
    expect(concatenate([a, zeros('float64', [0]), b])).toEqual(tensor([1, 2, 3, 4, 5], { device: 'cpu:1' }));
    const copy = concatenate([a]);
    expect([copy.shape, copy.data === a.data]).toEqual([[4], false]);
  });

  it('refuses tensors of different dtypes', () => {
    expect(thrown(() => concatenate([tensor([1]), tensor([1], { dtype: 'int8' })]))).toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_INTERNAL',
      message: 'float64 and int8 tensors cannot share a pack',
    });
  });

  it('refuses an empty list', () => {
    expect(thrown(() => concatenate([]))).toMatchObject({ name: 'AssertionError', code: 'ERR_COLL_INTERNAL' });
  });
});

describe('splitLike', () => {
  it('returns views of the given shapes, in order', () => {
    const joined = tensor([1, 2, 3, 4, 5], { device: 'cpu:1' });
    const parts = splitLike(joined, [{ shape: [2, 2] }, { shape: [0] }, { shape: [] }]);
    expect(parts).toEqual([
      tensor([1, 2, 3, 4], { shape: [2, 2], device: 'cpu:1' }),
      tensor([], { device: 'cpu:1' }),
      { ...tensor(5), device: 'cpu:1' },
    ]);
    expect(parts.every(({ data }) => data.buffer === joined.data.buffer)).toBe(true);
  });
});

describe('slice()', () => {
  it('returns a view, also of a view', () => {
    const whole = tensor(new Int16Array([0, 1, 2, 3, 4, 5]), { device: 'cpu:1' });
    const view = slice(slice(whole, 1, 5), 1, 3);
    expect(view).toEqual(tensor(new Int16Array([2, 3]), { device: 'cpu:1' }));
    view.data[0] = 20;
    expect(whole.data[2]).toBe(20);
  });
});
