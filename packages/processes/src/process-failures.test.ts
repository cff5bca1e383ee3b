import { InternalError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, nowhere } from '@coll/core/internal';
import { describe, expect, it } from 'vitest';
import { disagreementOf, failureError, failureKinds, kindOf } from './process-failures.js';

describe('failureError', () => {
  it.each([
    ['shapes', 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
    ['dtypes', 'InternalError', 'ERR_COLL_DTYPE_MISMATCH'],
    ['mismatch', 'InternalError', 'ERR_COLL_MISMATCH'],
    ['aborted', 'AbortedError', 'ERR_COLL_ABORTED'],
    ['failed', 'UnavailableError', 'ERR_COLL_PEER_FAILED'],
    ['closed', 'RuntimeError', 'ERR_COLL_CLOSED'],
    ['deadline', 'DeadlineExceededError', 'ERR_COLL_DEADLINE'],
    ['lost', 'UnavailableError', 'ERR_COLL_PEER_FAILED'],
  ] as const)('of kind %s is a %s with %s', (kind, name, code) => {
    const failure = [failureKinds.indexOf(kind), 2, 'what happened'] as const;
    const error = failureError('all-reduce', 7, failure);
    expect(error).toMatchObject({ code, rank: 2, operation: 'all-reduce' });
    expect(error.constructor.name).toBe(name);
    expect(error.message).toContain('what happened');
    // Disagreements name the collective by themselves.
    const isOfAll = ['shapes', 'dtypes', 'mismatch'].includes(kind);
    expect(error.message.includes('(collective 7 of the group)')).toBe(!isOfAll);
    expect(failureError('group', undefined, failure).message).not.toContain('collective');
    expect(kindOf(error)).toBe(kind === 'lost' ? 'failed' : kind);
  });

  it('of an unknown kind is that of a member that failed', () => {
    expect(failureError('group', undefined, [99, 1, 'text'])).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
  });
});

describe('disagreementOf', () => {
  const stateOf = (length: number) => {
    const table = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(1)), 1);
    const places = { inputAt: nowhere, outputAt: nowhere, workAt: nowhere };
    table.write(0, {
      ...{ collective: { kind: 'all-reduce', op: 'sum' }, dtype: 'float32', length, schedule: 1, layout: 0 },
      ...places,
    });
    return [...table.announcedBy(0)];
  };

  it('names the rank that is not with the majority, by its own name', () => {
    const error = disagreementOf([stateOf(3), stateOf(4), stateOf(4)], ['first', 'second', 'third']);
    expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
    expect(error.message).toMatch(/first/);
  });

  it('counts who has not come among the majority', () => {
    const error = disagreementOf([undefined, stateOf(4), stateOf(3), stateOf(4)]);
    expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH', rank: 2 });
  });

  it('counts who has not come with the first of as many', () => {
    expect(disagreementOf([undefined, stateOf(4), stateOf(3)])).toMatchObject({ rank: 2 });
  });

  it('is told where no difference is to be seen', () => {
    const error = disagreementOf([stateOf(4), stateOf(4)]);
    expect(error).toBeInstanceOf(InternalError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      message: 'ranks disagree about a collective; all ranks must make the same calls in the same order',
    });
  });
});
