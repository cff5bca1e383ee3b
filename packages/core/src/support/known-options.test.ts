import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { knownOptions, requireKnownOptions } from './known-options.js';

interface Options {
  readonly timeoutSeconds?: number;
  readonly bytesPerPack?: number;
  readonly signal?: AbortSignal;
  readonly into?: unknown;
}

const known = knownOptions<Options>('reduce', { timeoutSeconds: true, bytesPerPack: true, signal: true, into: true });

const messageFor = (name: string) => (thrown(() => requireKnownOptions({ [name]: 1 }, known)) as Error).message;

describe('requireKnownOptions', () => {
  it('accepts known options with any value, also with undefined', () => {
    const some = fc.record({ timeoutSeconds: fc.anything(), signal: fc.anything() }, { requiredKeys: [] });
    fc.assert(
      fc.property(some, (options) => {
        expect(requireKnownOptions(options, known)).toBe(Object.keys(options).length);
      }),
    );
  });

  it('refuses an unknown name with a ValueError, even if its value is undefined', () => {
    expect(thrown(() => requireKnownOptions({ signal: undefined, into_: undefined }, known))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
  });

  it('refuses unknown names that are inherited', () => {
    expect(() => requireKnownOptions(Object.create({ timeout: 1 }), known)).toThrow('"timeout"');
  });

  it.each([
    ['timeout_seconds', 'timeoutSeconds'],
    ['TimeoutSeconds', 'timeoutSeconds'],
    ['timeout-seconds', 'timeoutSeconds'],
    ['timeout', 'timeoutSeconds'],
    ['timeoutSecnods', 'timeoutSeconds'],
    ['timeoutSecond', 'timeoutSeconds'],
    ['bytesPerPacks', 'bytesPerPack'],
    ['bytes_per_pack', 'bytesPerPack'],
    ['abortSignal', 'signal'],
    ['signals', 'signal'],
    ['inot', 'into'],
  ])('suggests for %s the option %s', (name, meant) => {
    expect(messageFor(name)).toBe(`reduce: unknown option "${name}"; did you mean ${meant}?`);
  });

  it.each(['x', 'io', 'device', 'constructor', 'toString', ''])('lists all names if none is similar to %j', (name) => {
    const message = `reduce: unknown option "${name}"; known options: timeoutSeconds, bytesPerPack, signal, into`;
    expect(messageFor(name)).toBe(message);
  });

  it('keeps the message on one line for option names of any length', () => {
    expect(messageFor(`\n${'x'.repeat(1000)}`)).toMatch(
      /^reduce: unknown option "\\nx{56}\.\.\."; known options: [^\n]*$/,
    );
  });

  it('suggests the right name after one letter is lost, doubled, replaced or swapped', () => {
    const slip = fc.record({
      name: fc.constantFrom('timeoutSeconds', 'bytesPerPack', 'signal'),
      at: fc.nat({ max: 4 }),
    });
    fc.assert(
      fc.property(slip, fc.constantFrom('lost', 'doubled', 'replaced', 'exchanged'), ({ name, at }, kind) => {
        const [before, letter, next, rest] = [name.slice(0, at), name[at], name[at + 1], name.slice(at + 2)] as const;
        const slips = {
          lost: `${before}${next}${rest}`,
          doubled: `${before}${letter}${letter}${next}${rest}`,
          replaced: `${before}#${next}${rest}`,
          exchanged: `${before}${next}${letter}${rest}`,
        };
        expect(messageFor(slips[kind])).toContain(`did you mean ${name}?`);
      }),
    );
  });
});
