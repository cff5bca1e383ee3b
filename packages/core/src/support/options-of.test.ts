import { expect, it } from 'vitest';
import { ValueError } from './errors.js';
import { knownOptions } from './known-options.js';
import { optionsOf } from './options-of.js';

const example = 'new RingAllReduce({ numPacks: 2 })';
const known = knownOptions<{ numPacks?: number }>('RingAllReduce', { numPacks: true });

it('optionsOf returns the given options, or an empty object for undefined', () => {
  const options = { numPacks: 2 };
  expect(optionsOf(options, example, known)).toBe(options);
  expect(optionsOf(undefined, example, known)).toEqual({});
});

it.each([2, null, 'ring', [2], [], new Map([['numPacks', 2]]), new Float32Array(1), () => 2])(
  'optionsOf refuses %j',
  (options) => {
    expect(() => optionsOf(options as never, example, known)).toThrow(ValueError);
    expect(() => optionsOf(options as never, example, known)).toThrow(`options must be an object, ${example}, got `);
  },
);

it('optionsOf refuses an unknown option and names the class that the options are for', () => {
  expect(() => optionsOf({ num_packs: 2 } as never, example, known)).toThrow(
    'RingAllReduce: unknown option "num_packs"; did you mean numPacks?',
  );
});
