import { UnavailableError } from '@coll/core';
import { expect, it } from 'vitest';
import { decodeFailureRecord, encodeFailureRecord } from './failure-record.js';

const told = (ending: object) => decodeFailureRecord(Buffer.from(JSON.stringify(ending)), 'meet');
const ending = { name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', message: 'rank 1 is gone', rank: 1 };

it('gives back the error that a member left', () => {
  const error = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 1 is gone', { rank: 1, operation: 'meet' });
  expect(decodeFailureRecord(encodeFailureRecord(error), 'meet')).toMatchObject({ ...ending, operation: 'meet' });
});

it.each([2_147_483_647, -5, 0.5, '1'])('does not believe that rank %j exists', (rank) => {
  expect(told({ ...ending, rank }).rank).toBeUndefined();
});

it.each(['ERR_COLL_PEER_FAILED_TOO', 'ERR_COLL_INTERNAL', 7])('takes code %j for no error of a member', (code) => {
  expect(told({ ...ending, code })).toMatchObject({
    code: 'ERR_COLL_STORE',
    message: expect.stringContaining('a record that cannot be parsed'),
  });
});

it('drops the characters that control a terminal from a message', () => {
  expect(told({ ...ending, message: 'a\u001b[2Jb\r\n\u009bc' }).message).toBe('a [2Jb \n c');
});

it('takes no more than 2000 characters of a message', () => {
  expect(told({ ...ending, message: 'x'.repeat(3000) }).message).toBe('x'.repeat(2000));
});
