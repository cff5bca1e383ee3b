import { expect, it } from 'vitest';
import { membershipFrom } from './environment-membership.js';

it.each([undefined, null, 'RANK=0', 5])('an environment must be an object, not %j', (environment) => {
  expect(() => membershipFrom(environment as never)).toThrow(
    expect.objectContaining({
      ...{ name: 'ValueError', code: 'ERR_COLL_CLUSTER' },
      message: expect.stringMatching(/^the environment must be an object such as process\.env, got /),
    }),
  );
});

it('errors that reading the environment throws are passed on unchanged', () => {
  const error = new TypeError('not readable');
  const environment = {
    COLL_RANK: '0',
    get COLL_SIZE(): string {
      throw error;
    },
  };
  expect(() => membershipFrom(environment)).toThrow(error);
});

it.each([
  [0, ['[fd00::1:2]:2222', '[fd00::1:2]:2223', '[fd00::1:3]:1'], 0],
  [1, ['[fd00::1:2]:2222', '[fd00::1:2]:2223', '[fd00::1:3]:1'], 1],
  [2, ['a:1', 'b:2222', 'c:2222'], 1],
])(
  'worker %i of TF_CONFIG has a rank after the chief and a local rank among the workers of its host',
  (index, worker, localRank) => {
    const cluster = { chief: ['c:9'], worker };
    const environment = { TF_CONFIG: JSON.stringify({ cluster, task: { type: 'worker', index } }) };
    const expected = { rank: index + 1, size: 4, localRank, localSize: 2, coordinator: 'c:9' };
    expect(membershipFrom(environment)).toMatchObject(expected);
  },
);
