import { describe, expect, it } from 'vitest';
import { recordedRank } from '../../test/recorded-ranks.js';
import { alignClocks } from './clocks.js';
import type { Call, ThreadRecord } from './record-file.js';

/** A rank on another host, whose clock shows `ahead` microseconds more. */
function rankOn(host: string, rank: number, { ahead, calls }: { ahead: number; calls: Partial<Call>[] }): ThreadRecord {
  const shifted = calls.map((call) => ({
    ...call,
    begun: (call.begun ?? 0) + ahead,
    ended: (call.ended ?? 0) + ahead,
  }));
  const { record } = recordedRank({ rank, size: 2, calls: shifted });
  return { ...record, host, alive: 60e6 + ahead, aliveWall: 1e12 + 60_000 };
}

const all = (begun: number, ended: number) => ({ begun, ended, bytes: 65_536 });

describe('the clocks of two hosts', () => {
  it('are compared by the calls of all ranks, with the error that remains', () => {
    const ahead = 123e6;
    const a = rankOn('a', 0, { ahead: 0, calls: [all(1000, 2010), all(3000, 3020), all(5000, 5900)] });
    const b = rankOn('b', 1, { ahead, calls: [all(2000, 2040), all(2500, 3030), all(5880, 5910)] });
    const { offset, error } = alignClocks([a, b]).get('b') as { offset: number; error: number };
    // The first call ends on a 10 µs after it began on b; the second on b 30 µs after it began on a.
    expect([offset, error]).toEqual([-ahead - 10, 20]);
    expect(Math.abs(offset + ahead)).toBeLessThanOrEqual(error);
  });

  it('are compared by small calls, whose times may be wrong by a tick', () => {
    const small = (time: number) => ({ begun: time, ended: time, bytes: 4 });
    const a = rankOn('a', 0, { ahead: 0, calls: [small(8000)] });
    const b = rankOn('b', 1, { ahead: 0, calls: [small(4000)] });
    expect(alignClocks([a, b]).get('b')).toEqual({ host: 'b', offset: 4000, error: 20_000 });
    const c = rankOn('a', 0, { ahead: 0, calls: [small(8000), all(9000, 9300)] });
    const d = rankOn('b', 1, { ahead: 0, calls: [small(8000), all(9100, 9310)] });
    expect(alignClocks([c, d]).get('b')).toEqual({ host: 'b', offset: -55, error: 255 });
  });

  it('are compared by their wall clocks if they have no call in common', () => {
    const a = rankOn('a', 0, { ahead: 0, calls: [] });
    const b = rankOn('b', 1, { ahead: 7e6, calls: [] });
    expect(alignClocks([a, b]).get('b')).toEqual({ host: 'b', offset: -7e6, error: undefined });
  });

  it('are compared although they drift', () => {
    const a = rankOn('a', 0, { ahead: 0, calls: [all(1000, 2010), all(5000, 5900)] });
    const b = rankOn('b', 1, { ahead: 0, calls: [all(2100, 2140), all(4000, 4800)] });
    const { offset, error } = alignClocks([a, b]).get('b') as { offset: number; error: number };
    expect([offset, error]).toEqual([55, 145]);
  });

  it('are not compared by calls that one rank may end before another has begun', () => {
    const broadcast = { verb: 'broadcast', peer: 0, op: undefined } as const;
    const a = rankOn('a', 0, { ahead: 0, calls: [{ ...broadcast, ...all(1000, 1001) }] });
    const b = rankOn('b', 1, { ahead: 0, calls: [{ ...broadcast, ...all(9000, 9001) }] });
    expect(alignClocks([a, b]).get('b')).toMatchObject({ offset: 0, error: undefined });
  });
});
