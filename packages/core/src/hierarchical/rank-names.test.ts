import { describe, expect, it } from 'vitest';
import {
  type CollError,
  DeadlineExceededError,
  InternalError,
  OutOfRangeError,
  RuntimeError,
  UnavailableError,
} from '../support/errors.js';
import { RankNames } from './rank-names.js';

// Three groups of one, three and six ranks.
const names = new RankNames([0, 1, 4, 10]);

describe('the names of ranks', () => {
  it('are the ranks that each stands for', () => {
    expect(names.names).toEqual(['0 (worker 0)', '1, 2, 3 (worker 1)', '4 to 9 (worker 2)']);
  });

  it('say which worker a rank is of, unless its number is the same', () => {
    expect(RankNames.ofWorker(1, 2).names).toEqual(['2 (worker 1)', '3 (worker 1)']);
    expect(RankNames.ofWorker(0, 2).names).toEqual(['0 (worker 0)', '1 (worker 0)']);
    expect(RankNames.ofWorker(1, 1).names).toEqual(['1']);
    expect(RankNames.ofWorkers(3, 1).names).toEqual(['0', '1', '2']);
    expect(new RankNames([0, 1, 3]).names).toEqual(['0 (worker 0)', '1, 2 (worker 1)']);
  });

  it('are as many ranks for each of some workers', () => {
    expect(RankNames.ofWorkers(3, 2).names).toEqual(['0, 1 (worker 0)', '2, 3 (worker 1)', '4, 5 (worker 2)']);
    const error = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 2 and rank 7 are gone', { rank: 2 });
    expect(RankNames.ofWorkers(3, 2).retold(error)).toMatchObject({
      message: 'rank 4, 5 (worker 2) and rank 7 are gone',
      rank: 4,
    });
  });

  it('lists up to four ranks, and names the first and last of more', () => {
    expect(new RankNames([0, 4, 9]).names).toEqual(['0, 1, 2, 3 (worker 0)', '4 to 8 (worker 1)']);
  });

  it('stand in messages, but not in what others have said, nor in the name of the operation', () => {
    const operation = 'broadcast from rank 1';
    const told = (message: string, rank?: number) =>
      names.retold(
        new DeadlineExceededError('ERR_COLL_DEADLINE', message, { operation, ...(rank === undefined ? {} : { rank }) }),
      );
    expect(told(`${operation}: timed out on rank 0: rank 1, 2 did not arrive (rank 1 on host-b)`, 2)).toMatchObject({
      message: `${operation}: timed out on rank 0 (worker 0): rank 1, 2, 3 (worker 1), 4 to 9 (worker 2) did not arrive (rank 1, 2, 3 (worker 1) on host-b)`,
      rank: 4,
      operation,
      name: 'DeadlineExceededError',
    });
    expect(told('rank 1 on host-b failed: rank 1 is out of memory')).toMatchObject({
      message: 'rank 1, 2, 3 (worker 1) on host-b failed: rank 1 is out of memory',
      rank: undefined,
    });
    expect(told('rank 1 aborted: rank 2 said so')).toMatchObject({
      message: 'rank 1, 2, 3 (worker 1) aborted: rank 2 said so',
    });
  });

  it('stand in errors about replicas, and not a second time where ranks that disagree were called by them', () => {
    const error = new InternalError('ERR_COLL_MISMATCH', 'replica 0 and replica 1; rank 1, 2, 3 (worker 1)', {
      rank: 1,
    });
    expect(names.retold(error)).toMatchObject({
      message: 'replica 0 (worker 0) and replica 1, 2, 3 (worker 1); rank 1, 2, 3 (worker 1)',
      rank: 1,
    });
  });

  it('leave alone what was told in ranks of the whole already', () => {
    const cause = new Error('why');
    const error = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 2 failed: out of memory', { rank: 2, cause });
    const marked = names.marked(error) as CollError;
    expect(names.retold(marked)).toMatchObject({ message: error.message, rank: 2, cause, name: 'UnavailableError' });
    const nobody = new RuntimeError('ERR_COLL_CLOSED', 'it was closed');
    expect(names.marked(nobody)).toBe(nobody);
  });

  it('leave alone what is no error of a group', () => {
    for (const error of [new Error('rank 1'), new OutOfRangeError('rank 1'), 'rank 1', undefined]) {
      expect(names.retold(error)).toBe(error);
    }
  });
});
