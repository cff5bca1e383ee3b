import { describe, expect, it } from 'vitest';
import { UnavailableError } from '../support/errors.js';
import {
  type Failure,
  failureError,
  failureOf,
  failureReasons,
  keptFailure,
  reasonOf,
  recordOf,
  textWith,
} from './failures.js';

const call = { operation: 'all-reduce sum', size: 4 };
const failed: Failure = { reason: 'failed', rank: 1, ranks: [], text: 'failed: out of memory' };

describe('failureError', () => {
  it.each([
    ['failed', 'UnavailableError', 'ERR_COLL_PEER_FAILED'],
    ['lost', 'UnavailableError', 'ERR_COLL_PEER_FAILED'],
    ['deadline', 'DeadlineExceededError', 'ERR_COLL_DEADLINE'],
    ['aborted', 'AbortedError', 'ERR_COLL_ABORTED'],
    ['closed', 'RuntimeError', 'ERR_COLL_CLOSED'],
    ['mismatch', 'InternalError', 'ERR_COLL_MISMATCH'],
    ['shapes', 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
    ['dtypes', 'InternalError', 'ERR_COLL_DTYPE_MISMATCH'],
  ] as const)(
    'returns, for the reason %s, a %s with the code %s, and with rank, operation and cause',
    (reason, name, code) => {
      const error = failureError({ ...failed, reason }, { ...call, cause: 'why' });
      expect(error).toMatchObject({ name, code, rank: 1, operation: 'all-reduce sum', cause: 'why' });
      expect(error.message).toContain('failed: out of memory');
    },
  );

  it.each(failureReasons)(
    'keeps the record of a failure with the reason %s on the error, hidden from JSON',
    (reason) => {
      const failure = { ...failed, reason };
      const error = failureError(failure, call);
      expect(keptFailure(error)).toBe(failure);
      expect(failureOf(error, 3)).toBe(failure);
      expect(JSON.stringify(error)).not.toContain('reason');
    },
  );

  it.each<[Partial<Failure>, string, string]>([
    [{}, 'rank 1 failed: out of memory', 'rank B on b failed: out of memory'],
    [{ text: 'failed: rank 0' }, 'rank 1 failed: rank 0', 'rank B on b failed: rank 0'],
    [{ reason: 'closed', text: 'has left the group' }, 'rank 1 has left the group', 'rank B on b has left the group'],
    [
      { text: 'cannot continue: a connection has ended', ranks: [2] },
      'rank 1 cannot continue: a connection has ended (rank 2)',
      'rank B on b cannot continue: a connection has ended (rank C on c)',
    ],
    [
      { reason: 'lost', text: 'was lost: it has ended', ranks: [3] },
      'rank 1 was lost: it has ended; rank 3 was lost, too',
      'rank B on b was lost: it has ended; rank D on d was lost, too',
    ],
    [
      { reason: 'lost', text: 'was lost: it has ended', ranks: [2, 3] },
      'rank 1 was lost: it has ended; rank 2, rank 3 were lost, too',
      'rank B on b was lost: it has ended; rank C on c, rank D on d were lost, too',
    ],
    [
      { reason: 'deadline', text: 'did not arrive', ranks: [0, 2] },
      'timed out on rank 1 waiting for other workers: rank 0, 2 did not arrive',
      'timed out on rank B waiting for other workers: rank A, C did not arrive (rank A on a, rank C on c)',
    ],
    [{ reason: 'deadline', text: 'failed: too late' }, 'rank 1 failed: too late', 'rank B on b failed: too late'],
  ])('describes %j with rank numbers, or with the names and hosts of ranks', (fields, plain, named) => {
    const failure = { ...failed, ...fields };
    const hosts = [failure.rank, ...failure.ranks].map((rank) => 'abcd'[rank] as string);
    expect(failureError(failure, call).message).toBe(`all-reduce sum: ${plain}`);
    const { text } = recordOf(failureError({ ...failure, hosts }, call));
    expect(textWith(text, (rank) => 'ABCD'[rank] as string)).toBe(`all-reduce sum: ${named}`);
  });

  it.each<[Partial<Failure>, readonly number[] | undefined]>([
    [{}, [1]],
    [{ text: 'cannot continue: a connection has ended', ranks: [2] }, [1]],
    [{ text: 'ended with exit code 7', lost: [3, 0] }, [0, 1, 3]],
    [{ reason: 'closed' }, [1]],
    [{ reason: 'lost', ranks: [3, 0] }, [0, 1, 3]],
    [{ reason: 'deadline', ranks: [2, 0] }, [0, 2]],
    [{ reason: 'aborted' }, undefined],
    [{ reason: 'shapes' }, undefined],
    [{ rank: -1 }, undefined],
  ])('lists all members that are lost, have failed or left, or are missing: %j', (fields, ranks) => {
    const error = failureError({ ...failed, ...fields }, call);
    expect(error.ranks).toEqual(ranks);
  });

  it('names members that were lost besides the one that failed', () => {
    const failure = { ...failed, text: 'ended with exit code 7', lost: [2, 3] };
    expect(failureError(failure, call).message).toBe(
      'all-reduce sum: rank 1 ended with exit code 7; rank 2, rank 3 were lost, too',
    );
  });

  it('names the ranks of a group made by split by both numbers', () => {
    const error = failureError(
      { ...failed, reason: 'lost', text: 'was lost', ranks: [0] },
      { ...call, whole: [4, 6, 7, 9] },
    );
    expect(error).toMatchObject({
      ...{ rank: 1, ranks: [0, 1], wholeRanks: [4, 6] },
      message:
        'all-reduce sum: rank 1 (rank 6 of the whole group) was lost; rank 0 (rank 4 of the whole group) was lost, too',
    });
  });

  it('names no rank for a failure that no rank of the group has caused', () => {
    const error = failureError({ ...failed, rank: -1, text: 'another group failed' }, call);
    expect(error.message).toBe('all-reduce sum: another group failed');
    expect(error.rank).toBeUndefined();
  });

  it('includes the position of the collective in the group', () => {
    const error = failureError(failed, { ...call, where: ' (collective 7 of the group)' });
    expect(error.message).toBe('all-reduce sum (collective 7 of the group): rank 1 failed: out of memory');
  });

  it('calls a rank beyond the size of the group a rank of the enclosing group', () => {
    const error = failureError({ ...failed, rank: 9 }, call);
    expect(error).toMatchObject({
      message: 'all-reduce sum: rank 5 of the enclosing group failed: out of memory',
      rank: 9,
    });
  });

  it.each(['mismatch', 'shapes', 'dtypes'] as const)(
    'uses the text of a disagreement between ranks, with the reason %s, as the whole message',
    (reason) => {
      expect(failureError({ ...failed, reason, text: 'ranks disagree' }, call).message).toBe('ranks disagree');
    },
  );
});

describe('failureOf', () => {
  it('blames the rank that the error contains, or else the rank passed as an argument', () => {
    const error = (rank?: number) => new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 7 is gone', { rank });
    expect(failureOf(error(2), 3)).toEqual({ ...failed, rank: 2, text: 'failed: rank 7 is gone' });
    expect(failureOf(error(), 3)).toEqual({ ...failed, rank: 3, text: 'failed: rank 7 is gone' });
  });

  it('finds the reason by the error code, and keeps the message of a disagreement between ranks', () => {
    for (const reason of failureReasons.filter((other) => other !== 'lost')) {
      const { code, message } = failureError({ ...failed, reason }, call);
      const text = code.endsWith('MISMATCH') ? message : `failed: ${message}`;
      expect(failureOf(new UnavailableError(code, message), 1)).toEqual({ ...failed, reason, text });
    }
  });
});

it("reasonOf returns 'failed' for an error code that belongs to no other reason", () => {
  expect(reasonOf(new UnavailableError('ERR_COLL_STORE', 'no store'))).toBe('failed');
});
