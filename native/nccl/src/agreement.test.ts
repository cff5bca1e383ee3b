import { expect, it } from 'vitest';
import { type Asked, disagreement, type Request } from './agreement.js';

const sum: Request = { operation: 'all-reduce sum', dtype: 'float32', length: 4 };
const ask = (...requests: readonly Partial<Request>[]): readonly Asked[] =>
  requests.map((request, rank) => ({ rank, request: { ...sum, ...request } }));

it('disagreement returns undefined if all ranks make the same call', () => {
  expect(disagreement(ask({}, {}, {}))).toBeUndefined();
  expect(disagreement(ask({}))).toBeUndefined();
});

it.each([
  ['operation', { operation: 'all-gather' }, 'InternalError', 'ERR_COLL_MISMATCH'],
  ['dtype', { dtype: 'int8' }, 'InternalError', 'ERR_COLL_DTYPE_MISMATCH'],
  ['length', { length: 5 }, 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
  [
    'operation, before any other difference',
    { operation: 'all-gather', dtype: 'int8', length: 5 },
    'InternalError',
    'ERR_COLL_MISMATCH',
  ],
] as const)('disagreement names the rank whose call differs from the others in its %s', (_, odd, name, code) => {
  for (const at of [0, 1, 2]) {
    const error = disagreement(ask(...[0, 1, 2].map((rank) => (rank === at ? odd : {}))));
    expect(error).toMatchObject({ name, code, rank: at, message: expect.stringContaining(`rank ${at} asks for`) });
  }
});

it('disagreement names the second of two ranks that make different calls', () => {
  expect(disagreement(ask({}, { length: 1 }))).toMatchObject({ rank: 1 });
});

it('disagreement names the rank that has refused more calls, and the error that it caught', () => {
  const refused = { refused: 1, caught: 'ERR_COLL_BUFFER' } as const;
  expect(disagreement(ask({}, refused, {}))).toMatchObject({
    code: 'ERR_COLL_PEER_FAILED',
    rank: 1,
    message: expect.stringContaining('rank 1 caught ERR_COLL_BUFFER'),
  });
  expect(disagreement(ask(refused, refused))).toBeUndefined();
});
