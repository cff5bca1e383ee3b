import { CollError, InvalidArgumentError, ValueError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, nowhere } from '@coll/core/internal';
import { describe, expect, it } from 'vitest';
import { disagreementOf, errorFor, failureFrom } from './failures.js';
import type { BindingError } from './mpi-binding.js';

const bindingError = (kind: BindingError['kind'], message: string) =>
  Object.assign(new Error(message), { kind, code: 0 });

describe('errors of the addon', () => {
  it.each([
    ['invalid-argument', ValueError, 'ERR_COLL_REFUSED', 'too long'],
    ['no-library', CollError, 'ERR_COLL_REFUSED', 'mpi: too long'],
    ['busy', CollError, 'ERR_COLL_CONTEXT', 'mpi: too long'],
    ['mpi', CollError, 'ERR_COLL_INTERNAL', 'mpi: the MPI library reports: too long'],
  ] as const)('of the kind %s become typed errors with the original as cause', (kind, Class, code, message) => {
    const cause = bindingError(kind, 'too long');
    const error = errorFor(cause, { operation: 'open' });
    expect(error).toBeInstanceOf(Class);
    expect(error).toMatchObject({ code, message, cause, operation: 'open' });
  });

  it('leave other values alone', () => {
    const own = new ValueError('ERR_COLL_VALUE', 'no');
    expect(errorFor(own)).toBe(own);
    expect(errorFor('text')).toBe('text');
  });
});

it('a failure of the addon has a reason of the list of core', () => {
  expect(failureFrom([6, 1, [0, 2], 'did not arrive'])).toEqual({
    reason: 'deadline',
    rank: 1,
    ranks: [0, 2],
    text: 'did not arrive',
  });
});

it('calls of other lengths make an error that names the rank that deviates', () => {
  const table = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(3)), 3);
  const places = { schedule: 0, layout: 0, inputAt: nowhere, outputAt: nowhere, workAt: nowhere };
  for (const rank of [0, 1, 2])
    table.write(rank, {
      collective: { kind: 'all-reduce', op: 'sum' },
      dtype: 'float32',
      length: rank === 1 ? 3 : 4,
      ...places,
    });
  const announced = Float64Array.from([0, 1, 2].flatMap((rank) => [...table.announcedBy(rank)]));
  const error = disagreementOf(announced, 3, undefined);
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH', rank: 1 });
});
