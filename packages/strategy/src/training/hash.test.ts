import { expect, it } from 'vitest';
import { hashOf, hashOfBits } from './hash.js';

/** Whole numbers from a seed. */
function* drawn(below: number): Generator<number, never> {
  for (let state = 1; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield Math.floor((state / 2 ** 32) * below);
  }
}

it.each([
  ['labels of 1 and -1', [-1, 1]],
  ['labels of 0 and 1', [0, 1]],
  ['powers of two', [1, 2, 4, 8, 16]],
])('tells apart lists of %s, whose float32 numbers differ in the highest bits only', (_, values) => {
  const numbers = drawn(values.length);
  const lists = Array.from({ length: 2000 }, () =>
    Float32Array.from({ length: 64 }, () => values[numbers.next().value] as number),
  );
  expect(new Set(lists.map((list) => hashOfBits(list))).size).toBe(new Set(lists.map(String)).size);
});

it('tells apart texts, and bytes that are not whole words', () => {
  const texts = Array.from({ length: 5000 }, (_, number) => `sample ${number}`);
  expect(new Set(texts.map(hashOf)).size).toBe(5000);
  expect(new Set(texts.map((text) => hashOfBits(new TextEncoder().encode(`${text}.`)))).size).toBe(5000);
});
