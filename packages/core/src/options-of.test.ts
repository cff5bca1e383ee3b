import { expect, it } from 'vitest';
import { optionsOf } from './options-of.js';

const example = 'new RingAllReduce({ numPacks: 2 })';

it('gives options as they are, and none where there are none', () => {
  const options = { numPacks: 2 };
  expect(optionsOf(options, example)).toBe(options);
  expect(optionsOf(undefined, example)).toEqual({});
});

it.each([2, null, 'ring', [2], () => 2])('refuses %j', (options) => {
  expect(() => optionsOf(options as never, example)).toThrow(
    expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
  );
  expect(() => optionsOf(options as never, example)).toThrow(`options are an object, ${example}, not `);
});
