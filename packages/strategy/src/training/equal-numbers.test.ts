import { describe, expect, it } from 'vitest';
import { equalWidth, wereEqual, writeEqual } from './equal-numbers.js';

/** Whether the means of these numbers, as float32, show that they are equal. */
function areEqual(numbers: readonly number[], bits: number): boolean {
  const width = equalWidth(bits);
  const sum = new Float32Array(width);
  for (const number of numbers) {
    const values = new Float32Array(width);
    writeEqual(values, 0, number, bits);
    for (let at = 0; at < width; at++) sum[at] = (sum[at] as number) + (values[at] as number);
  }
  // Some engines multiply by the reciprocal, which rounds once more.
  const reciprocal = Math.fround(1 / numbers.length);
  const divided = sum.map((value) => value / numbers.length);
  const multiplied = sum.map((value) => value * reciprocal);
  const answers = [divided, multiplied].map((means) => wereEqual(means, 0, bits, numbers.length));
  expect(answers[1]).toBe(answers[0]);
  return answers[0] as boolean;
}

describe.each([2, 3, 7, 64, 1000])('the means of numbers of %i replicas', (replicas) => {
  const all = (number: number) => Array.from({ length: replicas }, () => number);

  it.each([0, 1, 0xffffffff, 0x12345678])('show that all are %i', (number) => {
    expect(areEqual(all(number), 32)).toBe(true);
  });

  it.each([
    [7, 8],
    [0xfffffffe, 0xffffffff],
    [0x0fffffff, 0x1fffffff],
    [0, 2],
  ])('show that one is %i and the others are %i', (odd, usual) => {
    expect(areEqual([odd, ...all(usual).slice(1)], 32)).toBe(false);
  });
});

it('shows different numbers that have the mean of one of them', () => {
  expect(areEqual([0, 1, 2], 12)).toBe(false);
});
