import { afterEach, describe, expect, it } from 'vitest';
import { configureNative } from '../configure.js';
import { helperThreads } from './helper-threads.js';

afterEach(() => configureNative({ helperThreads: undefined }));

describe('helper threads', () => {
  it.each([
    [1, 0],
    [2, 1],
    [17, 16],
    [128, 16],
  ])('are for %i cores at most %i', (cores, helpers) => {
    expect(helperThreads({}, cores)).toBe(helpers);
  });

  it('are as many as COLL_HELPER_THREADS states', () => {
    expect(helperThreads({ COLL_HELPER_THREADS: '0' }, 8)).toBe(0);
    expect(helperThreads({ COLL_HELPER_THREADS: '40' }, 8)).toBe(40);
    expect(helperThreads({ COLL_HELPER_THREADS: '' }, 8)).toBe(7);
  });

  it.each(['257', '-1', '1.5', 'few'])('cannot be %j by COLL_HELPER_THREADS', (variable) => {
    expect(() => helperThreads({ COLL_HELPER_THREADS: variable }, 8)).toThrow(
      `COLL_HELPER_THREADS must be a whole number from 0 to 256, got "${variable}"`,
    );
  });

  it('are as many as configureNative sets, whatever the variable states', () => {
    configureNative({ helperThreads: 5 });
    expect(helperThreads({ COLL_HELPER_THREADS: '40' }, 8)).toBe(5);
  });

  it.each([-1, 1.5, 257, '3' as never])('cannot be set to %j', (helpers) => {
    expect(() => configureNative({ helperThreads: helpers })).toThrow(
      'helperThreads must be a whole number from 0 to 256, got',
    );
  });
});
