import { ValueError } from '@coll/core';
import { expect, it } from 'vitest';
import { type Line, linesOf, worstOf } from './line.js';

const place = { folder: '/p', environment: {} };

function failing(error: unknown) {
  const examine = () => {
    throw error;
  };
  return linesOf({ name: 'cores', examine }, place);
}

it('linesOf turns an invalid setting into a broken line that names the variable', async () => {
  const cure = 'correct COLL_CORES, or unset it';
  expect(await failing(new ValueError('ERR_COLL_VALUE', 'COLL_CORES must be a number'))).toEqual([
    { name: 'cores', verdict: 'broken', text: 'COLL_CORES must be a number', cure },
  ]);
  expect(await failing(new ValueError('ERR_COLL_CLUSTER', 'TF_CONFIG has no task'))).toMatchObject([
    { cure: 'correct what the message names' },
  ]);
});

it('linesOf turns any other error into a broken line with the stack trace', async () => {
  const error = new TypeError('x is not a function');
  expect(await failing(error)).toEqual([
    {
      name: 'cores',
      verdict: 'broken',
      text: 'x is not a function',
      cure: 'none: this is an error of coll doctor; report it with the output of --json',
      data: { stack: error.stack },
    },
  ]);
  expect(await failing('a text')).toMatchObject([{ text: 'a text' }]);
});

it('worstOf prefers broken to slow, and counts facts as ok', () => {
  const fact: Line = { name: 'a', text: 'b' };
  const slow: Line = { ...fact, verdict: 'slow', cure: 'c' };
  expect(worstOf([fact, { ...fact, verdict: 'ok' }])).toBe('ok');
  expect(worstOf([fact, slow])).toBe('slow');
  expect(worstOf([slow, { ...slow, verdict: 'broken' }, fact])).toBe('broken');
});
