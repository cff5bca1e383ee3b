import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLogSink } from './logger.js';
import { warnOfOpenTraffic } from './open-traffic.js';

const lines: string[] = [];
beforeEach(() => {
  lines.length = 0;
  setLogSink((level, message) => lines.push(`${level}: ${message}`));
});
afterEach(() => {
  setLogSink();
  vi.unstubAllEnvs();
});

describe('warnOfOpenTraffic', () => {
  it('warns once of values that a library sends between hosts', () => {
    for (const _ of [1, 2]) warnOfOpenTraffic('MPI', ['a', 'b', 'a']);
    expect(lines).toEqual([
      expect.stringMatching(
        /^warn: MPI sends the values of collectives between 2 hosts \(a, b\) neither encrypted nor/,
      ),
    ]);
  });

  it('names the first of many hosts', () => {
    warnOfOpenTraffic('many', ['a', 'b', 'c', 'd', 'e']);
    expect(lines[0]).toContain('between 5 hosts (a, b, c, …)');
  });

  it('is silent within a host, and if the user has allowed open traffic', () => {
    warnOfOpenTraffic('none', ['a', 'a']);
    vi.stubEnv('COLL_INSECURE', '1');
    warnOfOpenTraffic('none', ['a', 'b']);
    expect(lines).toEqual([]);
  });
});
