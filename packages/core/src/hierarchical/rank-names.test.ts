import { describe, expect, it } from 'vitest';
import { type Failure, failureError, keptFailure, rankError } from '../collectives/failures.js';
import { OutOfRangeError } from '../support/built-in-errors.js';
import { InternalError, RuntimeError, UnavailableError } from '../support/errors.js';
import { RankNames } from './rank-names.js';

const failureOf = (fields: Partial<Failure>, operation = 'all-reduce') =>
  failureError({ reason: 'failed', rank: 1, ranks: [], text: 'broke', ...fields }, { operation });

// Three workers with one, three and six ranks.
const names = new RankNames([0, 1, 4, 10]);

describe('RankNames', () => {
  it('lists the ranks of each worker', () => {
    expect(names.names).toEqual(['0 (worker 0)', '1, 2, 3 (worker 1)', '4 to 9 (worker 2)']);
  });

  it('includes the worker of a rank, unless rank and worker have the same number', () => {
    expect(RankNames.ofWorker(1, 2).names).toEqual(['2 (worker 1)', '3 (worker 1)']);
    expect(RankNames.ofWorker(0, 2).names).toEqual(['0 (worker 0)', '1 (worker 0)']);
    expect(RankNames.ofWorker(1, 1).names).toEqual(['1']);
    expect(RankNames.ofWorkers(3, 1).names).toEqual(['0', '1', '2']);
    expect(new RankNames([0, 1, 3]).names).toEqual(['0 (worker 0)', '1, 2 (worker 1)']);
  });

  it('supports several workers with the same number of ranks', () => {
    expect(RankNames.ofWorkers(3, 2).names).toEqual(['0, 1 (worker 0)', '2, 3 (worker 1)', '4, 5 (worker 2)']);
    const gone = failureOf({ rank: 2, ranks: [1], reason: 'lost', text: 'is gone' });
    expect(RankNames.ofWorkers(3, 2).translated(gone)).toMatchObject({
      message: 'all-reduce: rank 4, 5 (worker 2) is gone; rank 2, 3 (worker 1) was lost, too',
      rank: 4,
    });
  });

  it('lists up to four ranks, and only the first and last of more', () => {
    expect(new RankNames([0, 4, 9]).names).toEqual(['0, 1, 2, 3 (worker 0)', '4 to 8 (worker 1)']);
  });

  it('replaces ranks in messages, but not in the text of user errors or in operation names', () => {
    const operation = 'broadcast from rank 1';
    const hosts = ['host-a', 'host-b', ''];
    const late = { reason: 'deadline', rank: 0, ranks: [1, 2], text: 'did not arrive', hosts } as const;
    expect(names.translated(failureOf(late, operation))).toMatchObject({
      message: `${operation}: timed out on rank 0 (worker 0) waiting for other workers: rank 1, 2, 3 (worker 1), 4 to 9 (worker 2) did not arrive (rank 1, 2, 3 (worker 1) on host-b, rank 4 to 9 (worker 2))`,
      rank: 0,
      operation,
      name: 'DeadlineExceededError',
    });
    for (const text of ['failed: rank 1 and replica 0 are out of memory', 'aborted: rank 2 said so']) {
      expect(names.translated(failureOf({ text }))).toMatchObject({
        message: `all-reduce: rank 1, 2, 3 (worker 1) ${text}`,
        rank: 1,
      });
    }
  });

  it('replaces the ranks in an error once per level of nested groups, and keeps all other words', () => {
    const text = ['replica ', 0, ' and replica ', 2, '; replica 1'];
    const error = rankError(InternalError, 'ERR_COLL_MISMATCH', text, { rank: 2 });
    expect(error.message).toBe('replica 0 and replica 2; replica 1');
    const named = names.translated(error);
    expect(named).toMatchObject({
      message: 'replica 0 (worker 0) and replica 4 to 9 (worker 2); replica 1',
      rank: 4,
    });
    expect(RankNames.ofWorker(1, 10).translated(named)).toMatchObject({
      message: 'replica 10 (worker 1) and replica 14 (worker 1); replica 1',
      rank: 14,
    });
  });

  it('does not change the message of an error without a failure record', () => {
    const error = new UnavailableError('ERR_COLL_PEER_FAILED', 'a disk of replica 1 is full', { rank: 1 });
    expect(names.translated(error)).toMatchObject({ message: 'a disk of replica 1 is full', rank: 1 });
  });

  it('does not change an error that already contains ranks of the whole group', () => {
    const error = failureOf({ rank: 2, text: 'failed: rank 1' });
    const marked = names.marked(error);
    expect(keptFailure(marked)).toMatchObject({ rank: 5 });
    expect(names.translated(marked)).toBe(error);
    const nobody = new RuntimeError('ERR_COLL_CLOSED', 'it was closed');
    expect(names.marked(nobody)).toBe(nobody);
  });

  it('names a rank of the whole group that another member reported', () => {
    const { rank, ranks, text } = keptFailure(names.marked(failureOf({ rank: 2, ranks: [9] }))) as Failure;
    expect(names.translated(failureOf({ rank, ranks, text }))).toMatchObject({
      message: 'all-reduce: rank 2 (worker 1) broke (rank 9 (worker 2))',
      rank: 2,
    });
  });

  it('lists every rank of a missing worker in the failure record that other members receive', () => {
    const late = failureOf({ reason: 'deadline', rank: 0, ranks: [1], text: 'did not arrive', hosts: ['a', 'b'] });
    expect(keptFailure(names.translated(late) as RuntimeError)).toMatchObject({
      rank: 0,
      ranks: [1, 2, 3],
      hosts: ['a', 'b', 'b', 'b'],
    });
  });

  it('does not change errors that are not from a group', () => {
    for (const error of [new Error('rank 1'), new OutOfRangeError('rank 1'), 'rank 1', undefined]) {
      expect(names.translated(error)).toBe(error);
    }
  });
});
