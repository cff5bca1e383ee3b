import { IndexedSlices, tensor, ValueError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { resultMemory } from './result-memory.js';

const slices = new IndexedSlices(Float32Array.of(1), Int32Array.of(0));

describe('resultMemory', () => {
  it('is none where none is named', () => {
    expect(resultMemory(undefined, [tensor([1])])).toBeUndefined();
  });

  it('takes the dense values only, in their order', () => {
    const memory = resultMemory({ a: new Float32Array(2), b: [new Int32Array(1)] }, [
      tensor(Float32Array.of(1, 2)),
      slices,
      tensor(Int32Array.of(3)),
    ]);
    expect(memory?.map(({ dtype }) => dtype)).toEqual(['float32', 'int32']);
  });

  it.each([
    ['more places than values', [new Float32Array(1), new Float32Array(1)], /2 results were given for 1 values/],
    ['another length', new Float32Array(2), /result 0 must be float32 of shape \[1\]/],
    ['another dtype', new Float64Array(1), /result 0 must be float32 of shape \[1\]/],
    ['another shape', tensor(new Float32Array(1), { shape: [1, 1] }), /result 0 must be float32 of shape \[1\]/],
  ])('refuses %s', (_, into, message) => {
    expect(() => resultMemory(into, [tensor(Float32Array.of(1))])).toThrow(ValueError);
    expect(() => resultMemory(into, [tensor(Float32Array.of(1))])).toThrow(message);
  });

  it('is of the dtype of the results', () => {
    expect(resultMemory(new Float64Array(1), [tensor(Int32Array.of(1))], 'MEAN')).toHaveLength(1);
    expect(() => resultMemory(new Int32Array(1), [tensor(Int32Array.of(1))], 'MEAN')).toThrow(/must be float64/);
    expect(resultMemory(new Int32Array(1), [tensor(Int32Array.of(1))], 'SUM')).toHaveLength(1);
  });

  it('may lie side by side in one buffer, but not overlap', () => {
    const buffer = new Float32Array(4);
    const values = [tensor(Float32Array.of(1, 2)), tensor(Float32Array.of(1, 2))];
    expect(resultMemory([buffer.subarray(0, 2), buffer.subarray(2)], values)).toHaveLength(2);
    expect(() => resultMemory([buffer.subarray(0, 2), buffer.subarray(1, 3)], values)).toThrow(/given twice/);
    expect(() => resultMemory([buffer.subarray(1, 3), buffer.subarray(0, 2)], values)).toThrow(/given twice/);
  });
});
