import { describe, expect, it } from 'vitest';
import { done, now, recordedRank, waiting } from '../../test/recorded-ranks.js';
import type { ThreadRecord } from '../trace/record-file.js';
import { type Reading, snapshotOf } from './snapshot.js';
import { linesOf } from './view.js';

/** A rank at the time `now` on another host, so that nothing is asked about its process. */
function rank(at: number, record: Partial<ThreadRecord> = {}, calls = done(10)): ThreadRecord {
  return { ...recordedRank({ rank: at, size: 2, calls }).record, host: 'elsewhere', ...record };
}

const before: Reading = {
  at: now - 1e6,
  records: [rank(0, { callsMade: 6, steps: 3, alive: now - 1.5e6 }), rank(1, { callsMade: 6 })],
};
const waits = [...done(10), waiting(5)];
const later: Reading = {
  at: now,
  records: [rank(0, { steps: 8, samples: 100, cpuTime: 1.5e6, callsMade: 11 }, waits), rank(1)],
};

describe('coll top', () => {
  it('shows rates between two readings, and who waits for whom', () => {
    const { ranks, isRunning, verdict } = snapshotOf(later, before);
    expect(isRunning).toBe(true);
    expect(ranks[0]).toMatchObject({
      ...{ rank: 0, callsPerSecond: 5, stepsPerSecond: 5, bytesPerSecond: 5 * 16_384, cpu: 0.5 },
      state: 'waits for rank 1 in all-reduce 10 (4.5 s)',
    });
    expect(ranks[1]).toMatchObject({ rank: 1, callsPerSecond: 4, stepsPerSecond: undefined, state: 'runs' });
    expect(verdict).toMatchObject({ kind: 'absent', ranks: [1] });
  });

  it('shows no rates without an earlier reading, or for a rank that has just come', () => {
    expect(snapshotOf(later, undefined).ranks[0]).toMatchObject({ callsPerSecond: undefined, cpu: undefined });
    const [known] = before.records as [ThreadRecord];
    const { ranks } = snapshotOf(later, { ...before, records: [known] });
    expect(ranks.map(({ callsPerSecond }) => callsPerSecond)).toEqual([5, undefined]);
  });

  it('prints a line for the job, the verdict, and each rank', () => {
    const [head, sentence, empty, title, first] = linesOf(snapshotOf(later, before));
    expect(head).toBe('job job: 2 ranks on 1 host, 5 steps/s, 100 samples/s, 200 MB of memory');
    expect(sentence).toMatch(/^rank 1 never called all-reduce 10/);
    expect(empty).toBe('');
    expect(title).toMatch(/^rank +pid +steps\/s +calls\/s +bytes\/s +exchange +waiting +CPU +memory$/);
    expect(first).toMatch(/^ +0 +100 +5 +5 +82 kB +\d+ % +\d+ % +50 % +100 MB {3}waits for rank 1/);
  });

  it('leaves out columns and lines for which a terminal has no room', () => {
    const lines = linesOf(snapshotOf(later, before), { columns: 60, rows: 6 });
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(60);
    expect(lines.length).toBeLessThanOrEqual(6);
    expect(lines.join('\n')).toMatch(/^rank +calls\/s .*\n +0 .*waits for rank 1/m);
    expect(lines.join('\n')).not.toContain('memory   ');
    for (const columns of [1, 10, 20])
      expect(linesOf(snapshotOf(later, before), { columns, rows: 1 }).length).toBeGreaterThan(0);
  });

  it('warns about stalls that last, and about failures', () => {
    const [part] = rank(0).parts;
    const note = { part, rank: undefined, call: undefined, time: now - 3e6 };
    const stalled = rank(0, { notes: [{ ...note, kind: 'stall', text: 'rank 1 has not arrived' }] });
    const resumed = rank(1, {
      notes: [
        { ...note, kind: 'stall', text: 'rank 0 has not arrived' },
        { ...note, kind: 'resumed', text: '', time: now - 2e6 },
      ],
    });
    const { warnings } = snapshotOf({ at: now, records: [stalled, resumed] }, undefined);
    expect(warnings).toMatchObject([{ rank: 0, kind: 'stall', text: 'rank 1 has not arrived' }]);
    expect(linesOf(snapshotOf({ at: now, records: [stalled, resumed] }, undefined)).at(-1)).toMatch(
      /^\d\d:\d\d:\d\d rank 0: stall: rank 1 has not arrived$/,
    );
  });
});
