import { describe, expect, it } from 'vitest';
import { problemOf, writePattern } from '../src/subjects/pattern.js';

const ranks = 3;
const inputs = (length: number) =>
  Array.from({ length: ranks }, (_, rank) => {
    const input = new Float32Array(length);
    writePattern(input, rank);
    return input;
  });
const sumOf = (arrays: readonly Float32Array[]) =>
  Float32Array.from(arrays[0] as Float32Array, (_, index) =>
    arrays.reduce((sum, array) => sum + (array[index] as number), 0),
  );

describe('problemOf', () => {
  it.each([1, 6, 1791, 1792, 10_000])('accepts the correct results of %i elements', (length) => {
    const sum = sumOf(inputs(length));
    expect(problemOf({ kind: 'all-reduce', rank: 2, ranks }, sum)).toBeUndefined();
    expect(problemOf({ kind: 'reduce', rank: 0, ranks }, sum)).toBeUndefined();
    expect(problemOf({ kind: 'broadcast', rank: 1, ranks }, inputs(length)[0] as Float32Array)).toBeUndefined();
    const gathered = Float32Array.from(inputs(length).flatMap((input) => [...input]));
    expect(problemOf({ kind: 'all-gather', rank: 1, ranks }, gathered)).toBeUndefined();
    expect(problemOf({ kind: 'gather', rank: 0, ranks }, gathered)).toBeUndefined();
    expect(problemOf({ kind: 'gather', rank: 1, ranks }, new Float32Array(0))).toBeUndefined();
    const blocks = inputs(length * ranks).map((input) => input.slice(length, 2 * length));
    expect(problemOf({ kind: 'scatter', rank: 1, ranks }, blocks[0] as Float32Array)).toBeUndefined();
    const exchanged = Float32Array.from(blocks.flatMap((block) => [...block]));
    expect(problemOf({ kind: 'all-to-all', rank: 1, ranks }, exchanged)).toBeUndefined();
    const whole = sumOf(inputs(length * ranks));
    expect(problemOf({ kind: 'reduce-scatter', rank: 1, ranks }, whole.slice(length, 2 * length))).toBeUndefined();
  });

  it('names the first wrong element', () => {
    const sum = sumOf(inputs(5000));
    sum[4321] = 1;
    const problem = problemOf({ kind: 'all-reduce', rank: 2, ranks }, sum);
    expect(problem).toBe('wrong result on rank 2: element 4321 is 1, not 18');
  });

  it('detects inputs that were not reduced, and blocks at the wrong offset', () => {
    const [first] = inputs(100) as [Float32Array];
    expect(problemOf({ kind: 'all-reduce', rank: 0, ranks }, first)).toBeDefined();
    expect(problemOf({ kind: 'reduce-scatter', rank: 1, ranks }, sumOf(inputs(300)).slice(0, 100))).toBeDefined();
    for (const kind of ['all-gather', 'gather', 'scatter', 'all-to-all'] as const)
      expect(problemOf({ kind, rank: 0, ranks }, new Float32Array(300))).toBeDefined();
  });

  it('ignores the outputs of a reduce on ranks other than the root', () => {
    expect(problemOf({ kind: 'reduce', rank: 1, ranks }, new Float32Array(10))).toBeUndefined();
  });
});
