import { describe, expect, it } from 'vitest';
import { UnavailableError } from '../support/errors.js';
import { failureError, failureReasons, reasonOf } from './failures.js';

const details = { operation: 'all-reduce sum', rank: 1 };

describe('failureError', () => {
  it.each([
    ['peer', 'UnavailableError', 'ERR_COLL_PEER_FAILED'],
    ['deadline', 'DeadlineExceededError', 'ERR_COLL_DEADLINE'],
    ['aborted', 'AbortedError', 'ERR_COLL_ABORTED'],
    ['closed', 'RuntimeError', 'ERR_COLL_CLOSED'],
    ['mismatch', 'InternalError', 'ERR_COLL_MISMATCH'],
    ['shapes', 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
    ['dtypes', 'InternalError', 'ERR_COLL_DTYPE_MISMATCH'],
  ] as const)('for the reason %s is a %s of code %s with rank and operation', (reason, name, code) => {
    const error = failureError(reason, 'rank 0 is gone', details);
    expect(error).toMatchObject({ name, code, ...details });
    expect(error.message).toContain('rank 0 is gone');
  });

  it.each(failureReasons)('for the reason %s gives the same reason to other members', (reason) => {
    expect(reasonOf(failureError(reason, 'over', details))).toBe(reason);
  });

  it('begins with the operation and its place once', () => {
    const message = (text: string) => failureError('peer', text, details, ' (call 3)').message;
    expect(message('rank 0 is gone')).toBe('all-reduce sum (call 3): rank 0 is gone');
    expect(message('all-reduce sum: rank 0 is gone')).toBe('all-reduce sum: rank 0 is gone');
  });

  it.each(['mismatch', 'shapes', 'dtypes'] as const)('keeps the text of a disagreement about %s as it is', (reason) => {
    expect(failureError(reason, 'ranks disagree', details, ' (call 3)').message).toBe('ranks disagree');
  });
});

it('reasonOf takes an error of any other code for a failed peer', () => {
  expect(reasonOf(new UnavailableError('ERR_COLL_STORE', 'no store'))).toBe('peer');
});
