import { InternalError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, failureReasons, nowhere } from '@coll/core/internal';
import { describe, expect, it } from 'vitest';
import { disagreementOf, failureFrom } from './process-failures.js';

describe('failureFrom', () => {
  const hosts = ['a', 'b', 'c'];

  it('knows the reason by its number, and the hosts of all ranks of the group', () => {
    const number = failureReasons.indexOf('lost');
    expect(failureFrom([number, 2, [0, 7], 'was lost'], hosts)).toEqual({
      ...{ reason: 'lost', rank: 2, ranks: [0, 7], text: 'was lost', hosts: ['c', 'a', ''] },
    });
  });

  it('takes an unknown reason for a member that failed', () => {
    expect(failureFrom([99, 1, [], 'broke'], hosts)).toMatchObject({ reason: 'failed', rank: 1, hosts: ['b'] });
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

  it('names the rank that differs from the majority, with its own name', () => {
    const error = disagreementOf([stateOf(3), stateOf(4), stateOf(4)], ['first', 'second', 'third']);
    expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
    expect(error.message).toMatch(/first/);
  });

  it('counts ranks that have not arrived to the majority', () => {
    const error = disagreementOf([undefined, stateOf(4), stateOf(3), stateOf(4)]);
    expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH', rank: 2 });
  });

  it('counts ranks that have not arrived to the first of two equal halves', () => {
    expect(disagreementOf([undefined, stateOf(4), stateOf(3)])).toMatchObject({ rank: 2 });
  });

  it('has a general text if no difference is visible', () => {
    const error = disagreementOf([stateOf(4), stateOf(4)]);
    expect(error).toBeInstanceOf(InternalError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      message: 'ranks disagree about a collective; all ranks must make the same calls in the same order',
    });
  });
});
