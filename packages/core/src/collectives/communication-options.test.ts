import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { type LogLevel, setLogSink } from '../support/logger.js';
import {
  CollectiveCommunication,
  CollectiveHints,
  CommunicationImplementation,
  CommunicationOptions,
  type CommunicationOptionsInit,
} from './communication-options.js';

const fieldsOf = ({ bytesPerPack, timeoutSeconds, implementation }: CommunicationOptions) => ({
  bytesPerPack,
  timeoutSeconds,
  implementation,
});

const arbitraryInit: fc.Arbitrary<CommunicationOptionsInit> = fc.record({
  bytesPerPack: fc.constantFrom(undefined, 0, 1, 50 * 2 ** 20),
  timeoutSeconds: fc.constantFrom(undefined, null, 0, 0.5, 30),
  implementation: fc.constantFrom(undefined, 'AUTO', 'ring', 'NCCL'),
  checkCalls: fc.constantFrom(undefined, false, true),
});

describe('CommunicationImplementation', () => {
  it('has members whose values are their names', () => {
    expect(CommunicationImplementation).toEqual({ AUTO: 'AUTO', RING: 'RING', NCCL: 'NCCL' });
  });

  it('is also exported under its deprecated name CollectiveCommunication', () => {
    expect(CollectiveCommunication).toBe(CommunicationImplementation);
  });
});

describe('CommunicationOptions', () => {
  it('packs all values together, has no timeout and chooses AUTO by default', () => {
    const defaults = { bytesPerPack: 0, timeoutSeconds: null, implementation: 'AUTO' };
    expect(fieldsOf(new CommunicationOptions())).toEqual(defaults);
    expect(fieldsOf(new CommunicationOptions({}))).toEqual(defaults);
    const absent = { bytesPerPack: undefined, timeoutSeconds: undefined, implementation: undefined };
    expect(fieldsOf(new CommunicationOptions(absent))).toEqual(defaults);
  });

  it('accepts its fields as positional arguments', () => {
    const all = { bytesPerPack: 8, timeoutSeconds: 120, implementation: 'NCCL' };
    expect(fieldsOf(new CommunicationOptions(8, 120, 'nccl'))).toEqual(all);
    expect(fieldsOf(new CommunicationOptions(8))).toEqual({ ...all, timeoutSeconds: null, implementation: 'AUTO' });
    expect(fieldsOf(new CommunicationOptions(undefined, 120))).toEqual({
      bytesPerPack: 0,
      timeoutSeconds: 120,
      implementation: 'AUTO',
    });
  });

  it.each([
    [-1, 'bytesPerPack must be'],
    ['8', 'bytesPerPack must be'],
    [null, 'bytesPerPack must be'],
    [{ bytesPerPack: 8 }, 'as one object or as positional arguments, not both'],
  ])('refuses the bytes per pack %o before it checks the timeout', (first, message) => {
    expect(thrown(() => new CommunicationOptions(first as never, 3))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining(message),
    });
  });

  it.each([0, 1, 2 ** 40])('accepts %d bytes per pack', (bytesPerPack) => {
    expect(new CommunicationOptions({ bytesPerPack }).bytesPerPack).toBe(bytesPerPack);
  });

  it.each([-1, 0.5, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '64', null, 5n, true])(
    'refuses %o bytes per pack',
    (bytesPerPack) => {
      expect(thrown(() => new CommunicationOptions({ bytesPerPack: bytesPerPack as never }))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining('bytesPerPack must be a whole number of bytes, 0 or more'),
      });
    },
  );

  it.each([null, 0, 0.001, -3, Number.POSITIVE_INFINITY])('accepts a timeout of %s unchanged', (timeoutSeconds) => {
    expect(new CommunicationOptions({ timeoutSeconds }).timeoutSeconds).toBe(timeoutSeconds);
  });

  it.each([
    ['AUTO', 'AUTO'],
    ['ring', 'RING'],
    ['nCCl', 'NCCL'],
    [CommunicationImplementation.RING, 'RING'],
  ])('converts the implementation %s to %s', (implementation, expected) => {
    expect(new CommunicationOptions({ implementation: implementation as never }).implementation).toBe(expected);
  });

  it.each(['mpi', '', 'toString', '__proto__', null, 1, {}, ['RING']])(
    'refuses the implementation %o',
    (implementation) => {
      expect(thrown(() => new CommunicationOptions({ implementation: implementation as never }))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining('implementation must be one of AUTO, RING, NCCL'),
      });
    },
  );

  it.each([Number.NaN, '3', {}, true])('refuses the timeout %s', (timeoutSeconds) => {
    expect(thrown(() => new CommunicationOptions({ timeoutSeconds } as never))).toMatchObject({
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/^timeoutSeconds must be a number of seconds/),
    });
  });

  it('reports invalid bytes per pack before an invalid implementation', () => {
    const both = { bytesPerPack: -1, implementation: 'mpi' as never };
    expect(() => new CommunicationOptions(both)).toThrow('bytesPerPack');
  });

  it('has plain mutable fields', () => {
    const options = new CommunicationOptions();
    options.bytesPerPack = 7;
    options.timeoutSeconds = 3;
    options.implementation = 'NCCL';
    expect(fieldsOf(options)).toEqual({ bytesPerPack: 7, timeoutSeconds: 3, implementation: 'NCCL' });
  });

  it('is printed like the Options class of TensorFlow', () => {
    expect(`${new CommunicationOptions()}`).toBe(
      'Options(bytes_per_pack=0,timeout_seconds=None, implementation=CommunicationImplementation.AUTO)',
    );
    expect(`${new CommunicationOptions({ bytesPerPack: 8, timeoutSeconds: 0, implementation: 'ring' })}`).toBe(
      'Options(bytes_per_pack=8,timeout_seconds=0, implementation=CommunicationImplementation.RING)',
    );
  });
});

describe('the option checkCalls', () => {
  it('is off unless one of the merged options turns it on', () => {
    const [off, on] = [new CommunicationOptions(), new CommunicationOptions({ checkCalls: true })];
    expect([off, on].map(({ checkCalls }) => checkCalls)).toEqual([false, true]);
    expect(off.merge(on).checkCalls).toBe(true);
    expect(on.merge(off).checkCalls).toBe(true);
    expect(off.merge({ bytesPerPack: 1 }).checkCalls).toBe(false);
  });

  it.each([1, 'yes', null])('refuses %o', (checkCalls) => {
    expect(thrown(() => new CommunicationOptions({ checkCalls: checkCalls as never }))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('checkCalls must be true or false'),
    });
  });
});

describe('merge() of CommunicationOptions', () => {
  const base = new CommunicationOptions({ bytesPerPack: 8, timeoutSeconds: 3, implementation: 'RING' });

  it.each([undefined, null])('returns a copy when merged with %s', (other) => {
    const merged = base.merge(other);
    expect(merged).toBeInstanceOf(CommunicationOptions);
    expect(merged).not.toBe(base);
    expect(fieldsOf(merged)).toEqual(fieldsOf(base));
  });

  it.each<readonly [string, CommunicationOptionsInit, CommunicationOptionsInit]>([
    ['bytes per pack other than 0', { bytesPerPack: 9 }, { bytesPerPack: 9 }],
    ['no bytes per pack of 0', { bytesPerPack: 0 }, {}],
    ['a timeout', { timeoutSeconds: 4 }, { timeoutSeconds: 4 }],
    ['a timeout of 0, which switches the default off', { timeoutSeconds: 0 }, { timeoutSeconds: 0 }],
    ['no timeout of null', { timeoutSeconds: null }, {}],
    ['an implementation', { implementation: 'NCCL' }, { implementation: 'NCCL' }],
    ['no implementation AUTO', { implementation: 'AUTO' }, {}],
  ])('takes %s from the other options', (_, other, taken) => {
    expect(fieldsOf(base.merge(new CommunicationOptions(other)))).toEqual({ ...fieldsOf(base), ...taken });
  });

  it('accepts an object with some of the fields, and keeps its own other fields', () => {
    expect(fieldsOf(base.merge({ timeoutSeconds: 4 }))).toEqual({ ...fieldsOf(base), timeoutSeconds: 4 });
    expect(thrown(() => base.merge({ bytesPerPack: -1 }))).toMatchObject({ name: 'ValueError' });
  });

  it('changes neither of its operands', () => {
    const other = new CommunicationOptions({ bytesPerPack: 9, timeoutSeconds: 0, implementation: 'NCCL' });
    base.merge(other);
    expect(fieldsOf(base)).toEqual({ bytesPerPack: 8, timeoutSeconds: 3, implementation: 'RING' });
    expect(fieldsOf(other)).toEqual({ bytesPerPack: 9, timeoutSeconds: 0, implementation: 'NCCL' });
  });

  it('is idempotent and associative', () => {
    fc.assert(
      fc.property(arbitraryInit, arbitraryInit, arbitraryInit, (...inits) => {
        const [a, b, c] = inits.map((init) => new CommunicationOptions(init)) as [
          CommunicationOptions,
          CommunicationOptions,
          CommunicationOptions,
        ];
        expect(a.merge(b).merge(b)).toEqual(a.merge(b));
        expect(a.merge(b).merge(c)).toEqual(a.merge(b.merge(c)));
      }),
    );
  });
});

describe('CollectiveHints', () => {
  const sink = vi.fn<(level: LogLevel, message: string) => void>();
  beforeEach(() => setLogSink((level, message) => sink(level, message)));
  afterEach(() => {
    sink.mockClear();
    setLogSink();
  });

  it('returns options with the implementation AUTO', () => {
    const hints = new CollectiveHints({ bytesPerPack: 5, timeoutSeconds: 2 });
    expect(hints).toBeInstanceOf(CommunicationOptions);
    expect(fieldsOf(hints)).toEqual({ bytesPerPack: 5, timeoutSeconds: 2, implementation: 'AUTO' });
    expect(fieldsOf(new CollectiveHints())).toEqual(fieldsOf(new CommunicationOptions()));
  });

  it('accepts its fields as positional arguments', () => {
    expect(fieldsOf(new CollectiveHints(5, 2))).toEqual({ bytesPerPack: 5, timeoutSeconds: 2, implementation: 'AUTO' });
  });

  it('refuses an implementation', () => {
    expect(thrown(() => new CollectiveHints({ implementation: 'NCCL' } as never))).toMatchObject({
      name: 'ValueError',
      message: expect.stringContaining('CollectiveHints: unknown option "implementation"'),
    });
    const positional = CollectiveHints as unknown as new (...fields: unknown[]) => CollectiveHints;
    expect(new positional(5, 2, 'NCCL').implementation).toBe('AUTO');
  });

  it('validates as CommunicationOptions does', () => {
    expect(thrown(() => new CollectiveHints({ bytesPerPack: -1 }))).toMatchObject({ name: 'ValueError' });
  });

  it('warns once that it is deprecated, and names its replacement', () => {
    for (let time = 0; time < 3; time++) new CollectiveHints();
    expect(sink.mock.calls).toEqual([['warn', 'CollectiveHints is deprecated; use CommunicationOptions instead']]);
  });

  it('does not warn about CommunicationOptions', () => {
    new CommunicationOptions().merge(new CommunicationOptions());
    expect(sink).not.toHaveBeenCalled();
  });
});
