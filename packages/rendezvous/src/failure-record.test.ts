import { UnavailableError } from '@coll/core';
import { expect, it } from 'vitest';
import { decodeFailureRecord, encodeFailureRecord } from './failure-record.js';

const decoded = (ending: object) => decodeFailureRecord(Buffer.from(JSON.stringify(ending)), 'join a group');
const ending = { name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', message: 'rank 1 is gone', rank: 1 };

it('a failure record preserves the error of the member that wrote it', () => {
  const error = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 1 is gone', { rank: 1, operation: 'join a group' });
  expect(decodeFailureRecord(encodeFailureRecord(error), 'join a group')).toMatchObject({
    ...ending,
    operation: 'join a group',
  });
});

it.each([2_147_483_647, -5, 0.5, '1'])('a failure record with the invalid rank %j is read without a rank', (rank) => {
  expect(decoded({ ...ending, rank }).rank).toBeUndefined();
});

it.each(['ERR_COLL_PEER_FAILED_TOO', 'ERR_COLL_INTERNAL', 7])(
  'a failure record with the unknown code %j is read as one that cannot be parsed',
  (code) => {
    expect(decoded({ ...ending, code })).toMatchObject({
      code: 'ERR_COLL_STORE',
      message: expect.stringContaining('a record that cannot be parsed'),
    });
  },
);

it('a failure record drops terminal control characters from the message', () => {
  expect(decoded({ ...ending, message: 'a\u001b[2Jb\r\n\u009bc' }).message).toBe('a [2Jb \n c');
});

it('a failure record keeps at most 2000 characters of the message', () => {
  expect(decoded({ ...ending, message: 'x'.repeat(3000) }).message).toBe('x'.repeat(2000));
});
