import { expect, it } from 'vitest';
import { withParts } from './sections.ts';

const page = (a: string, b: string) =>
  `one\n\n<!-- made: a -->\n${a}<!-- /made -->\ntwo\n<!-- made: b -->\n${b}<!-- /made -->\n`;
const parts = new Map([
  ['a', 'new $& a'],
  ['b', 'new b\n'],
]);

it('each section is written between its marks, replacing the previous text', () => {
  const wanted = page('\nnew $& a\n\n', '\nnew b\n\n');
  expect(withParts(page('', 'old\n'), parts)).toBe(wanted);
  expect(withParts(wanted, parts)).toBe(wanted);
});

it('a missing mark or section is an error', () => {
  expect(() => withParts('<!-- made: c -->\n<!-- /made -->', parts)).toThrow('nobody makes "c"');
  expect(() => withParts('nothing', parts)).toThrow('the page has no place for a, b');
});
