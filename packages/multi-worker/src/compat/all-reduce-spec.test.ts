import { ValueError } from '@coll/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllReduceSpec, type AllReduceSpecLike, allReduceAlgs, parseSpec } from './all-reduce-spec.js';
import { formatSpec } from './format-spec.js';

const parsed = (spec: unknown) => parseSpec(spec as AllReduceSpecLike);

describe('parseSpec', () => {
  const xring = { alg: 'xring', shards: 1, limit: -1 };

  it.each<[string, unknown]>([
    ['a name', 'xring'],
    ['a name alone in a list', ['xring']],
    ['an entry', ['xring', 1, -1]],
    ['an entry without a limit', ['xring', 1]],
    ['an entry with holes', ['xring', undefined, undefined]],
    ['fields', { alg: 'xring' }],
    ['a list of one entry', [['xring']]],
    ['a list of fields', [{ alg: 'xring', shards: 1, limit: -1 }]],
    ['any limit below zero', ['xring', 1, -7]],
  ])('accepts %s, and fills in default values', (_, spec) => {
    expect(parsed(spec)).toEqual([xring]);
  });

  it('keeps the entries of a list in order', () => {
    expect(parsed([['nccl/xring', 1, 1024], { alg: 'pscpu', shards: 2, limit: 65_536 }, ['xring']])).toEqual([
      { alg: 'nccl/xring', shards: 1, limit: 1024 },
      { alg: 'pscpu', shards: 2, limit: 65_536 },
      xring,
    ]);
  });

  it('parses the one-line form', () => {
    expect(parsed('pscpu:2k:pscpu#2:64k:xring')).toEqual([
      { alg: 'pscpu', shards: 1, limit: 2048 },
      { alg: 'pscpu', shards: 2, limit: 65_536 },
      xring,
    ]);
    expect(parsed('pscpu/pscpu#2')).toEqual([{ alg: 'pscpu/pscpu', shards: 2, limit: -1 }]);
    expect(parsed('xring:0:xring:7:xring:3K:xring:3M:xring:2G:xring:1T:xring').map(({ limit }) => limit)).toEqual([
      0,
      7,
      3 * 2 ** 10,
      3 * 2 ** 20,
      2 ** 31,
      2 ** 40,
      -1,
    ]);
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /must be an entry, a list of entries or a string, got undefined/],
    ['a number', 7, /got 7/],
    ['an empty list', [], /the list is empty/],
    ['an empty text', '', /does not name an algorithm/],
    ['an empty entry', [['xring', 1, 7], []], /entry 1 \(\[\]\): an entry must begin with the name/],
    ['an unknown algorithm', 'foo', /entry 0 .*unknown algorithm "foo"; it must be one of nccl, nccl\/xring/],
    ['an unknown algorithm in a list', [['xring', 1, 7], ['foo']], /entry 1 \(\["foo"\]\): unknown algorithm "foo"/],
    ['four parts', ['xring', 1, -1, 2], /entry 0 .*got 4 parts/],
    ['shards of 0', ['xring', 0], /entry 0 .*shards must be a whole number, 1 or more, got 0/],
    ['half a shard', ['xring', 1.5], /shards must be a whole number, 1 or more, got 1.5/],
    ['shards in words', ['xring', 'two'], /shards must be a whole number, 1 or more, got "two"/],
    [
      'only strings in a list',
      ['xring', 'pscpu'],
      /a list must contain entries, not strings: write \[\["xring", 1, limit\], \["pscpu"\]\]/,
    ],
    ['a limit of NaN', ['xring', 1, Number.NaN], /the limit must be a whole number, or -1 for no limit, got NaN/],
    ['half an element', ['xring', 1, 0.5], /the limit must be a whole number/],
    [
      'a list must contain entries, not strings',
      [['xring', 1, 7], 'pscpu'],
      /entry 1 \("pscpu"\): a list must contain entries, not strings: write \["pscpu"\]/,
    ],
    ['a number in a list', [['xring', 1, 7], 7], /entry 1 \(7\): an entry must be/],
    ['a number instead of a name', [7, 1], /unknown algorithm 7/],
    ['unknown fields', [{ alg: 'xring', size: 3 }], /entry 0 \(\{ alg: "xring", size: 3 \}\): .*not "size"/],
    [
      'a last limit',
      [['xring', 1, 7]],
      /entry 0 \(xring\): is the last entry, but no entry takes values larger than 7/,
    ],
    [
      'falling limits',
      [['xring', 1, 7], ['pscpu', 1, 6], ['xring']],
      /entry 1 \(pscpu\): is never used: its limit 6 is not above 7/,
    ],
    ['equal limits', [['xring', 1, 7], ['pscpu', 1, 7], ['xring']], /entry 1 .*its limit 7 is not above 7/],
    ['an entry after the last', [['xring'], ['pscpu']], /entry 1 \(pscpu\): is never used: entry 0 has no limit/],
    ['a text that ends with a limit', 'xring:2k', /ends with a limit: add the algorithm for values larger than 2k/],
    ['a text that ends with a colon', 'xring:', /the limit "" must be a whole number/],
    ['a limit in words', 'xring:few:pscpu', /the limit "few" must be a whole number/],
    ['a negative limit in a text', 'xring:-1:pscpu', /the limit "-1" must be a whole number/],
    ['a limit that is too large for a number', 'xring:9000000T:pscpu', /the limit "9000000T"/],
    ['shards in words in a text', 'xring#two', /entry 0 \(xring#two\): # must be followed by a whole number/],
    ['shards of 0 in a text', 'xring#0', /shards must be a whole number, 1 or more, got 0/],
    ['shards twice', 'xring#1#2', /a whole number of shards/],
  ])('refuses %s', (_, spec, message) => {
    expect(() => parsed(spec)).toThrow(ValueError);
    expect(() => parsed(spec)).toThrow(message);
  });

  it('parses any string or reports what is wrong with it', () => {
    const part = fc.oneof(fc.constantFrom(...allReduceAlgs), fc.string({ maxLength: 6 }), fc.nat().map(String));
    const separators = fc.constantFrom(':', '#', ':2k:', '');
    const text = fc.array(fc.tuple(part, separators), { maxLength: 5 }).map((parts) => parts.flat().join(''));
    fc.assert(fc.property(fc.oneof(text, fc.string()), readsOrExplains));
  });

  it('parses any value, or reports what is wrong with it', () => {
    const entry = fc.oneof(
      fc.array(fc.oneof(fc.constantFrom(...allReduceAlgs), fc.integer({ min: -2, max: 4 }), fc.anything()), {
        maxLength: 4,
      }),
      fc.record({ alg: fc.constantFrom(...allReduceAlgs), shards: fc.anything(), limit: fc.anything() }),
    );
    fc.assert(fc.property(fc.oneof(entry, fc.array(entry, { maxLength: 3 }), fc.anything()), readsOrExplains));
  });
});

describe('formatSpec', () => {
  it('prints the text form that parseSpec accepts', () => {
    const text = 'pscpu:2k:pscpu#2:64k:xring:70000:nccl/rechd#3:3M:xring';
    expect(formatSpec(parsed(text))).toBe(text);
  });

  it('is reversed by parseSpec for any specification', () => {
    const entries = fc
      .uniqueArray(
        fc.oneof(
          fc.nat(),
          fc.nat({ max: 4096 }).map((limit) => limit * 1024),
        ),
        { maxLength: 5 },
      )
      .map((limits) => [...limits.toSorted((a, b) => a - b), -1])
      .chain((limits) =>
        fc.tuple(
          ...limits.map((limit) =>
            fc.record<AllReduceSpec>({
              alg: fc.constantFrom(...allReduceAlgs),
              shards: fc.integer({ min: 1, max: 99 }),
              limit: fc.constant(limit),
            }),
          ),
        ),
      );
    fc.assert(
      fc.property(entries, (spec) => {
        expect(parsed(formatSpec(spec))).toEqual(spec);
        expect(parsed(spec)).toEqual(spec);
        expect(parsed(spec.map(({ alg, shards, limit }) => [alg, shards, limit]))).toEqual(spec);
      }),
    );
  });
});

function readsOrExplains(spec: unknown): void {
  try {
    const entries = parsed(spec);
    expect(entries.at(-1)?.limit).toBe(-1);
    expect(parsed(entries)).toEqual(entries);
  } catch (error) {
    expect(error).toBeInstanceOf(ValueError);
    expect((error as ValueError).message).toMatch(/^allReduceSpec/);
  }
}
