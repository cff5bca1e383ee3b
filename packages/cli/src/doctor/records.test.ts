import { expect, it } from 'vitest';
import { recordsLine } from './records.js';

it('the line about records names the folder', () => {
  expect(recordsLine(undefined, { path: '/dev/shm/coll-7' })).toMatchObject({
    verdict: 'ok',
    text: 'in /dev/shm/coll-7',
  });
});

it('the line about records is slow if they are kept in memory only, and says how to mend it', () => {
  const line = recordsLine(undefined, { refusal: '/dev/shm/coll-7 belongs to another user', isNamed: false });
  expect(line).toMatchObject({ verdict: 'slow', cure: expect.stringContaining('COLL_RECORD_DIR') });
  expect(line.text).toContain('belongs to another user');
});

it('the line about records is a fact if they are switched off', () => {
  expect(recordsLine('off', { path: '/dev/shm/coll-7' })).toEqual({
    name: 'records',
    text: 'off, because of COLL_RECORD=off: coll trace finds nothing',
  });
});
