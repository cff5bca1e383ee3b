import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memberOf } from './member-config.js';
import { stallListener, watchOpening } from './stalls.js';

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

const member = (rank: number, size: number) => memberOf({ rank, size, jobKey: 'a secret of many letters' });
const stall = { operation: 'all-reduce', sequence: 3, missing: [0, 2], seconds: 5 };

describe('stallListener', () => {
  it('reports the missing ranks of a group that contains all ranks of the launcher', () => {
    const listener = stallListener(member(1, 4));
    expect(listener?.seconds).toBe(5);
    listener?.tell(stall);
    listener?.tell(undefined);
    expect(reports()).toEqual([{ rank: 1, stall }, { rank: 1 }]);
  });

  it.each([
    [1, 3],
    [0, 4],
  ])('reports no missing ranks if rank and group size (%i of %i) differ from those of the launcher', (rank, size) => {
    stallListener(member(rank, size))?.tell(stall);
    expect(reports()).toEqual([{ rank: 1, stall: { ...stall, missing: [] } }]);
  });

  it('is undefined if no launcher reads the reports', () => {
    vi.stubEnv('COLL_STALL_SECONDS', '');
    expect(stallListener(member(1, 4))).toBeUndefined();
    watchOpening(undefined)();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('watchOpening', () => {
  const opening = { rank: 1, stall: { operation: 'open a group', missing: [], seconds: 5 } };

  it('reports when opening a group takes too long, and when it has ended', () => {
    const end = watchOpening(stallListener(member(1, 4)));
    vi.advanceTimersByTime(4999);
    expect(reports()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(reports()).toEqual([opening]);
    end();
    expect(reports()).toEqual([opening, { rank: 1 }]);
  });

  it('reports nothing if the group opens in time', () => {
    watchOpening(stallListener(member(1, 4)))();
    vi.advanceTimersByTime(60_000);
    expect(reports()).toEqual([]);
  });
});
