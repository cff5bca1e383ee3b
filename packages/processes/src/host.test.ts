import fs, { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isSameHost, thisHost } from './host.js';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

describe('hosts', () => {
  it('are identified by name and boot id', () => {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    expect(thisHost()).toEqual({ name: os.hostname(), bootId });
  });

  it('have no boot id if the system does not provide one', () => {
    vi.spyOn(fs, 'readFileSync').mockImplementation(() => {
      throw new Error('ENOENT');
    });
    syncBuiltinESMExports();
    expect(thisHost()).toEqual({ name: os.hostname(), bootId: '' });
  });

  it('are the same if name and boot id are equal', () => {
    const host = thisHost();
    expect(isSameHost(host, thisHost())).toBe(true);
    expect(isSameHost(host, { ...host, name: 'other' })).toBe(false);
    expect(isSameHost(host, { ...host, bootId: 'other' })).toBe(false);
  });
});
