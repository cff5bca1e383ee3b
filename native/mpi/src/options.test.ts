import { describe, expect, it } from 'vitest';
import { resolveMpiOptions } from './options.js';

describe('options of a group of MPI', () => {
  it('have defaults: 600 seconds, the first call of each shape compared, halves as they are', () => {
    expect(resolveMpiOptions(undefined, {})).toEqual({ defaultMillis: 600_000, checkCalls: false, isWide: false });
  });

  it('override the environment', () => {
    const variables = { COLL_MPI_CHECK_CALLS: '1' };
    expect(resolveMpiOptions({}, variables).checkCalls).toBe(true);
    expect(resolveMpiOptions({ checkCalls: false }, variables).checkCalls).toBe(false);
  });

  it('have no limit for a timeout of 0 or Infinity', () => {
    for (const defaultTimeoutSeconds of [0, Number.POSITIVE_INFINITY])
      expect(resolveMpiOptions({ defaultTimeoutSeconds }, {}).defaultMillis).toBe(0);
  });

  it.each([
    [{ defaultTimeoutSeconds: -1 }, 'mpi: defaultTimeoutSeconds must be a number of seconds, 0 or more, got -1'],
    [
      { defaultTimeoutSeconds: Number.NaN },
      'mpi: defaultTimeoutSeconds must be a number of seconds, 0 or more, got NaN',
    ],
    [{ halfPrecision: 'float64' }, "mpi: halfPrecision must be 'stored' or 'float32', got"],
  ])('refuse %j', (options, message) => {
    expect(() => resolveMpiOptions(options as never, {})).toThrow(message);
  });

  it('refuse an unknown name', () => {
    expect(() => resolveMpiOptions({ checkCall: true } as never, {})).toThrow(/checkCalls/);
  });
});
