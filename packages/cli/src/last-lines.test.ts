import { describe, expect, it } from 'vitest';
import { LastLines } from './last-lines.js';

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => String(from + index));
const lines = (texts: readonly string[]) => Buffer.from(texts.map((text) => `${text}\n`).join(''));

describe('LastLines', () => {
  it('keeps the last twenty lines, whether they were added together or one by one', () => {
    const last = new LastLines();
    expect(last.read()).toEqual([]);
    last.add(lines(numbers(0, 100)));
    expect(last.read()).toEqual(numbers(80, 100));
    for (const number of numbers(100, 103)) last.add(lines([number]));
    expect(last.read()).toEqual(numbers(83, 103));
  });

  it('keeps empty lines, and truncates long lines at their end', () => {
    const last = new LastLines();
    last.add(lines(['', 'x'.repeat(5000), '', '']));
    expect(last.read()).toEqual(['', 'x'.repeat(2000), '', '']);
  });
});
