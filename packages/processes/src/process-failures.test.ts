import { InternalError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, failureReasons, nowhere } from '@coll/core/internal';
import { describe, expect, it } from 'vitest';
import { disagreementOf, failureFrom } from './process-failures.js';

describe('failureFrom', () => {
  const hosts = ['a', 'b', 'c'];

  it('returns the reason for its code, and the hosts of the ranks that failed', () => {
    const number = failureReasons.indexOf('lost');
    expect(failureFrom([number, 2, [0, 7], 'was lost', []], hosts)).toEqual({
      ...{ reason: 'lost', rank: 2, ranks: [0, 7], text: 'was lost', hosts: ['c', 'a', ''] },
    });
  });

  it('treats an unknown reason code as the failure of a member', () => {
    expect(failureFrom([99, 1, [], 'broke', []], hosts)).toMatchObject({ reason: 'failed', rank: 1, hosts: ['b'] });
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

  it('reports the rank that differs from the majority by the name that was passed for it', () => {
    const error = disagreementOf([stateOf(3), stateOf(4), stateOf(4)], ['first', 'second', 'third']);
    expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
    expect(error.message).toMatch(/first/);
  });

  it('assumes that ranks that have not arrived agree with the majority', () => {
    const error = disagreementOf([undefined, stateOf(4), stateOf(3), stateOf(4)]);
    expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH', rank: 2 });
  });

  it('assumes that ranks that have not arrived agree with the lower rank if two ranks differ', () => {
    expect(disagreementOf([undefined, stateOf(4), stateOf(3)])).toMatchObject({ rank: 2 });
  });

  it('returns an error with a general text if it finds no difference', () => {
    const error = disagreementOf([stateOf(4), stateOf(4)]);
    expect(error).toBeInstanceOf(InternalError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      message: 'ranks disagree about a collective; all ranks must make the same calls in the same order',
    });
  });
});
