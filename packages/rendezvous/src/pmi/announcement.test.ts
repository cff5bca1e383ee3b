import { CollError } from '@coll/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeAnnouncement, encodeAnnouncement } from './announcement.js';

it.each([undefined, 'tests-only-4kQz9XvB7mLwR2'])('an announcement with the key %j comes back unchanged', (jobKey) => {
  const announcement = { address: 'tcp://10.0.0.1:4000', jobKey };
  const text = encodeAnnouncement(announcement);
  expect(text).toMatch(/^[\w-]{1,1000}$/);
  expect(decodeAnnouncement(text)).toEqual(announcement);
});

it('any other text is refused with a CollError', () => {
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const texts = fc.oneof(
    fc.string(),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(() => decodeAnnouncement(text)).toThrow(CollError);
    }),
  );
  for (const value of [
    [2, 'tcp://h:1', ''],
    [1, 'http://h:1', ''],
    [1, 'h', ''],
    [1, 'tcp://h:1'],
    [1, 'tcp://h:1', '', 0],
  ])
    expect(() => decodeAnnouncement(encoded(value))).toThrow('cannot parse what rank 0 announced through the launcher');
});
