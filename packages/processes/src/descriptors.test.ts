import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { RuntimeError } from '@coll/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Descriptors } from './descriptors.js';
import { memberOf } from './member-config.js';

const member = memberOf({ rank: 1, size: 4, jobKey: 'tests-only-4kQz9XvB7mLwR2' });

let refused: string | undefined;
let failures: RuntimeError[];
let descriptors: Descriptors;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  // Moves away from time 0, so that no earlier failure counts.
  vi.advanceTimersByTime(5000);
  refused = undefined;
  failures = [];
  vi.spyOn(fs, 'openSync').mockImplementation(() => {
    if (refused === undefined) return 1000;
    throw Object.assign(new Error(`${refused}: no file`), { code: refused });
  });
  vi.spyOn(fs, 'closeSync').mockImplementation(() => {});
  syncBuiltinESMExports();
  descriptors = new Descriptors(member, (error) => failures.push(error));
});

afterEach(() => {
  descriptors.end();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it.each(['EMFILE', 'ENFILE'])(
  'the file descriptor check reports one error if no file can be opened for 0.4 seconds: %s',
  (code) => {
    refused = code;
    vi.advanceTimersByTime(399);
    expect(failures).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(failures).toMatchObject([
      {
        ...{ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER', rank: 1, operation: 'open a group', cause: { code } },
        message: `rank 1 cannot open a group of 4: it has too many open files (${code}); raise the limit before you start the process: ulimit -n 4096`,
      },
    ]);
    vi.advanceTimersByTime(10_000);
    expect(failures).toHaveLength(1);
  },
);

it('the file descriptor check closes the files that it opens', () => {
  vi.advanceTimersByTime(200);
  expect(vi.mocked(fs.closeSync).mock.calls).toEqual([[1000], [1000]]);
});

it.each(['ENOENT', 'EACCES'])('the file descriptor check does not treat %s as a lack of descriptors', (code) => {
  refused = code;
  vi.advanceTimersByTime(10_000);
  descriptors.missed();
  expect(failures).toEqual([]);
});

/**
 * Records a connection that could not be taken over; files can be opened again right afterwards.
 */
function miss(): void {
  refused = 'EMFILE';
  descriptors.missed();
  refused = undefined;
}

it('the file descriptor check counts refused connections even if files can be opened in between', () => {
  miss();
  vi.advanceTimersByTime(250);
  miss();
  expect(failures).toEqual([]);
  vi.advanceTimersByTime(250);
  miss();
  expect(failures).toHaveLength(1);
});

it('the file descriptor check starts counting again after an accepted connection', () => {
  miss();
  vi.advanceTimersByTime(250);
  descriptors.opened();
  miss();
  vi.advanceTimersByTime(250);
  miss();
  expect(failures).toEqual([]);
});

it.each([
  [1000, 1],
  [1200, 0],
])('the file descriptor check forgets a refusal after a second (%i ms: %i failures)', (millis, count) => {
  miss();
  vi.advanceTimersByTime(millis);
  miss();
  expect(failures).toHaveLength(count);
});

it('the file descriptor check ignores a failed connection if files can be opened', () => {
  miss();
  vi.advanceTimersByTime(400);
  descriptors.missed();
  expect(failures).toEqual([]);
});

it('the file descriptor check stops when it is closed', () => {
  descriptors.end();
  refused = 'EMFILE';
  vi.advanceTimersByTime(10_000);
  expect(failures).toEqual([]);
});
