import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setLogSink } from '@coll/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memberOf } from './member-config.js';
import { stallListener, watchOperation } from './stalls.js';

let folder: string;
const file = () => path.join(folder, 'stalls');
const reports = () =>
  readFileSync(file(), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-stalls-'));
  writeFileSync(file(), '');
  vi.stubEnv('COLL_STALL_FILE', file());
  vi.stubEnv('COLL_STALL_SECONDS', '5');
  vi.stubEnv('COLL_RANK', '1');
  vi.stubEnv('COLL_SIZE', '4');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const member = (rank: number, size: number) => memberOf({ rank, size, jobKey: 'tests-only-4kQz9XvB7mLwR2' });
const source = {};
const stall = { operation: 'all-reduce', sequence: 3, missing: [0, 2], seconds: 5 };

describe('stallListener', () => {
  it('reports the missing ranks of a group that contains all ranks of the launcher', () => {
    const listener = stallListener(member(1, 4));
    expect(listener?.seconds).toBe(5);
    listener?.tell(source, stall);
    listener?.tell(source, undefined);
    expect(reports()).toEqual([{ rank: 1, stall }, { rank: 1 }]);
  });

  it.each([
    [1, 3],
    [0, 4],
  ])('reports no missing ranks if rank and group size (%i of %i) differ from those of the launcher', (rank, size) => {
    const listener = stallListener(member(rank, size));
    listener?.tell(source, stall);
    listener?.tell(source, undefined);
    expect(reports()).toEqual([{ rank: 1, stall: { ...stall, missing: [] } }, { rank: 1 }]);
  });

  it('reports the ranks of a sub-group and of messages in the numbers of the whole group', () => {
    const listener = stallListener({ rank: 0, size: 2, whole: [1, 3] });
    listener?.tell(source, { operation: 'send', peer: 1, missing: [1], seconds: 5 });
    listener?.tell(source, undefined);
    const sending = { operation: 'send to rank 3', missing: [3], seconds: 5 };
    expect(reports()).toEqual([{ rank: 1, stall: sending }, { rank: 1 }]);
  });

  it('is undefined if COLL_STALL_SECONDS is 0', () => {
    vi.stubEnv('COLL_STALL_SECONDS', '0');
    expect(stallListener(member(1, 4))).toBeUndefined();
    watchOperation(undefined, 'split')();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('stallListener without a launcher that reads reports', () => {
  let lines: string[];
  beforeEach(() => {
    vi.stubEnv('COLL_STALL_FILE', '');
    lines = [];
    setLogSink((level, message) => lines.push(`${level}: ${message}`));
  });
  afterEach(() => setLogSink());

  it('lets the lowest rank that waits log a stall and its end', () => {
    for (const rank of [1, 3]) {
      const listener = stallListener(member(rank, 4));
      listener?.tell(source, stall);
      listener?.tell(source, undefined);
    }
    expect(lines).toEqual([
      'warn: stalled: ranks 1, 3 in all-reduce (collective 3) for 5 seconds, ranks 0, 2 have not arrived',
      'warn: no longer stalled: all ranks have resumed',
    ]);
  });

  it('logs messages and sub-groups in the numbers of the whole group', () => {
    const listener = stallListener({ rank: 0, size: 2, whole: [1, 3] });
    listener?.tell(source, { operation: 'receive', peer: 1, missing: [1], seconds: 5 });
    listener?.tell({}, { operation: 'barrier', sequence: 0, missing: [1], seconds: 5 });
    expect(lines).toEqual([
      'warn: stalled: rank 1 in receive from rank 3 for 5 seconds, rank 3 has not arrived',
      'warn: stalled: rank 1 in barrier (collective 0) for 5 seconds, rank 3 has not arrived',
    ]);
  });

  it('does not report as resumed what has failed', () => {
    const listener = stallListener(member(1, 4));
    listener?.tell(source, stall);
    listener?.tell(source, undefined, false);
    expect(lines).toHaveLength(1);
  });
});

describe('watchOperation', () => {
  const opening = { rank: 1, stall: { operation: 'open a group', missing: [], seconds: 5 } };

  it('reports when opening a group takes too long, and when it has ended', () => {
    const end = watchOperation(stallListener(member(1, 4)), 'open a group');
    vi.advanceTimersByTime(4999);
    expect(reports()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(reports()).toEqual([opening]);
    end();
    expect(reports()).toEqual([opening, { rank: 1 }]);
  });

  it('reports nothing if the group opens in time', () => {
    watchOperation(stallListener(member(1, 4)), 'open a group')();
    vi.advanceTimersByTime(60_000);
    expect(reports()).toEqual([]);
  });
});
