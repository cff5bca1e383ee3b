import fc from 'fast-check';
import { expect, it } from 'vitest';
import { quote } from './quote.js';

it.each([
  ['text', '"text"'],
  ['two\nlines', '"two\\nlines"'],
  [7, '7'],
  [-0, '0'],
  [7n, '7'],
  [true, 'true'],
  [undefined, 'undefined'],
  [null, 'null'],
  [Symbol('mark'), 'Symbol(mark)'],
  [[1, 'a', [undefined]], '[1, "a", [undefined]]'],
  [[], '[]'],
  [{ a: 1 }, 'an object (Object)'],
  [
    { dtype: 'float32', shape: [2, 3], data: new Float32Array(6), device: 'cpu:0' },
    'float32 tensor of shape [2, 3] on cpu:0',
  ],
  [{ dtype: 'int8', shape: [], data: new Int8Array(1), device: '' }, 'int8 tensor of shape []'],
  [{ dtype: 'a\nb', shape: null, data: 1, device: 'c\nd' }, 'a\\nb tensor of shape null on c\\nd'],
  [{ dtype: 7, shape: [], data: [] }, 'an object (Object)'],
  [new Map(), 'an object (Map)'],
  [Object.create(null), 'an object (no prototype)'],
  [new Float32Array(3), 'Float32Array(12 bytes)'],
  [new DataView(new ArrayBuffer(5)), 'DataView(5 bytes)'],
  [expect, 'function expect'],
  [() => {}, 'function (anonymous)'],
] as const)('quote() shows %o as %s', (value, text) => {
  expect(quote(value)).toBe(text);
});

it('quote() shows eight items of a long list', () => {
  expect(quote([1, 2, 3, 4, 5, 6, 7, 8, 9])).toBe('[1, 2, 3, 4, 5, 6, 7, 8, …]');
});

it('quote() truncates text longer than 80 characters', () => {
  expect(quote('x'.repeat(78))).toBe(`"${'x'.repeat(78)}"`);
  expect(quote('x'.repeat(79))).toBe(`"${'x'.repeat(76)}...`);
});

it('quote() shows a list that contains itself', () => {
  const list: unknown[] = [1];
  list.push(list);
  expect(quote(list)).toMatch(/^\[1, \[/);
});

it('quote() shows deeply nested lists without visiting all of them', () => {
  let nested: unknown = 'end';
  for (let depth = 0; depth < 100_000; depth++) nested = [nested, nested];
  expect(quote(nested).length).toBeLessThanOrEqual(80);
});

it('quote() shows any value in one line of at most 80 characters', () => {
  const anything = fc.anything({ withBigInt: true, withMap: true, withNullPrototype: true, withTypedArray: true });
  fc.assert(
    fc.property(fc.oneof(anything, fc.string({ maxLength: 200 }), fc.string().map(Symbol)), (value) => {
      expect(quote(value)).toMatch(/^[^\n\r]{1,80}$/u);
    }),
  );
});
