import { describe, expect, it } from 'vitest';
import { recordedRank } from '../../test/recorded-ranks.js';
import { findJob, jobsOf } from './jobs.js';
import type { ThreadRecord } from './record-file.js';

const rank = (at: number, record: Partial<ThreadRecord> = {}, group = 'group') =>
  recordedRank({ rank: at, size: 2, part: { group, opened: 2e6 }, record }).record;

describe('jobs', () => {
  it('contain the threads with a process, a name or a group in common', () => {
    const records = [
      rank(0, { job: '', process: 'a' }),
      rank(1, { job: '', process: 'b' }),
      rank(0, { job: '', process: 'b' }, 'threads'),
      rank(0, { job: 'x', process: 'c' }, 'other'),
      rank(1, { job: 'x', process: 'd', parts: [] }),
      rank(0, { job: '', process: 'e' }, 'third'),
    ];
    expect(
      jobsOf(records)
        .map((job) => job.records.length)
        .sort(),
    ).toEqual([1, 2, 3]);
  });

  it('come newest first', () => {
    const records = [
      rank(0, { job: 'old', process: 'a', begunWall: 1e6 }, 'one'),
      rank(0, { job: 'new', process: 'b', begunWall: 2e6 }, 'two'),
    ];
    expect(jobsOf(records).map((job) => job.records[0]?.job)).toEqual(['new', 'old']);
  });

  it('leave out earlier runs of the same name', () => {
    const ended = { end: 'closed', alive: 3e6, loopTurn: 3e6, begunWall: 1e6 } as const;
    const records = [rank(0, { ...ended, process: 'a' }, 'first'), rank(0, { process: 'b', begunWall: 1e9 }, 'second')];
    expect(jobsOf(records)).toMatchObject([{ records: [{ process: 'b' }] }]);
  });

  it('are found by name, pid and the beginning of a group id', () => {
    const jobs = jobsOf([
      rank(0, { job: 'digits', process: 'a' }, 'e4d909c2'),
      rank(1, { job: '', process: 'b' }, 'x'),
    ]);
    for (const name of ['digits', '100', 'e4d9']) expect(findJob(jobs, name)?.records[0]?.job, name).toBe('digits');
    expect(findJob(jobs, 'unknown')).toBeUndefined();
  });
});
