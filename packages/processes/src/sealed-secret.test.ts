import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { memberOf } from './member-config.js';
import { sealSecret, unsealSecret } from './sealed-secret.js';

const jobKey = randomBytes(16).toString('hex');
const member = memberOf({ rank: 3, size: 5, generation: 7, job: 'mine', jobKey });
const secret = randomBytes(48);
const sealed = sealSecret(member, 3, secret);

describe('a sealed secret', () => {
  it('is opened by the members of the group, and differs each time', () => {
    const other = memberOf({ rank: 0, size: 5, generation: 7, job: 'mine', jobKey });
    expect(unsealSecret(other, 3, sealed)).toEqual(secret);
    expect(sealSecret(member, 3, secret)).not.toBe(sealed);
    expect(unsealSecret(other, 3, sealSecret(member, 3, Buffer.of()))).toEqual(Buffer.of());
  });

  it('does not contain the secret in plain', () => {
    const bytes = Buffer.from(sealed, 'base64');
    for (let at = 0; at + 8 <= secret.length; at += 8) expect(bytes.indexOf(secret.subarray(at, at + 8))).toBe(-1);
  });

  it.each([
    ['another job key', { jobKey: randomBytes(16).toString('hex') }],
    ['another job', { job: 'other' }],
    ['another generation', { generation: 8 }],
    ['another size', { size: 6 }],
  ])('cannot be opened with %s', (_, changed) => {
    const options = { rank: 0, size: 5, generation: 7, job: 'mine', jobKey, ...changed };
    expect(unsealSecret(memberOf(options), 3, sealed)).toBeUndefined();
  });

  it('cannot be opened as that of another rank, or if any bit of it was changed', () => {
    expect(unsealSecret(member, 2, sealed)).toBeUndefined();
    const bytes = Buffer.from(sealed, 'base64');
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(unsealSecret(member, 3, copy.toString('base64'))).toBeUndefined();
    }
  });

  it.each(['', 'text', 'x'.repeat(60), 'x'.repeat(255)])('cannot be opened from %j', (text) => {
    expect(unsealSecret(member, 3, text)).toBeUndefined();
  });
});
