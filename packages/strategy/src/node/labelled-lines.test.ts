import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBanner, LabelledLines, labelOf } from './labelled-lines.js';

describe('labelled lines', () => {
  it('have one label each, however the text is split into chunks', () => {
    const piece = fc.constantFrom('', 'a', 'bc', '\n', 'd\n\ne', 'ü\n');
    const property = fc.property(fc.array(piece), (pieces) => {
      const lines = new LabelledLines('[2] ');
      const printed = Buffer.concat(pieces.map((text) => lines.label(Buffer.from(text)))).toString();
      const text = pieces.join('');
      const whole = text
        .split('\n')
        .slice(0, -1)
        .map((line) => `[2] ${line}\n`)
        .join('');
      const rest = text.slice(text.lastIndexOf('\n') + 1);
      expect(printed).toBe(whole + (rest === '' ? '' : `[2] ${rest}`));
    });
    fc.assert(property);
  });

  it('keep bytes that are not valid text', () => {
    expect([...new LabelledLines('> ').label(Buffer.of(0xff, 0xfe, 10))]).toEqual([62, 32, 0xff, 0xfe, 10]);
  });

  it.each([
    [{}, '[3] '],
    [{ COLL_RANK: '1' }, '[1.3] '],
    [{ COLL_RANK: '1', COLL_PREFIX: '0' }, ''],
    [{ COLL_PREFIX: '1' }, '[3] '],
  ])('of replica 3 have with %o the label "%s"', (environment, label) => {
    expect(labelOf(3, environment)).toBe(label);
  });
});

it('the greeting of TensorFlow.js is a banner, and no other text', () => {
  const line = '============================';
  expect(
    isBanner(`\n${line}\nHi, looks like you are running TensorFlow.js in Node.js. To speed things up …\n${line}\n`),
  ).toBe(true);
  expect(isBanner('Hi, looks like rain\n')).toBe(false);
});
