import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { MemberConfig } from './member-config.js';
import { groupVersion } from './peer-info.js';

type GroupIdentity = Pick<MemberConfig, 'key' | 'job' | 'generation' | 'size'>;

const nonceBytes = 32;
const tagBytes = 16;
const cipher = 'aes-256-gcm';
// A constant IV is safe because each key seals a single secret.
const noIv = Buffer.alloc(12);

/**
 * Seals a member's secret with AES-256-GCM, so that it can be published in the store. The key is
 * the HMAC-SHA256, keyed by the job key, of a fresh nonce, the group and the rank. Only members of
 * this group can open it, and only as the secret of this rank.
 */
export function sealSecret(group: GroupIdentity, rank: number, secret: Buffer): string {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, keyOf(group, rank, nonce), noIv);
  return Buffer.concat([nonce, sealing.update(secret), sealing.final(), sealing.getAuthTag()]).toString('base64');
}

/** The secret that `rank` has sealed; undefined if it was not sealed by this rank for this group. */
export function unsealSecret(group: GroupIdentity, rank: number, text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const opening = createDecipheriv(cipher, keyOf(group, rank, bytes.subarray(0, nonceBytes)), noIv, {
    authTagLength: tagBytes,
  });
  opening.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]);
  } catch {
    return undefined;
  }
}

// All parts but the last have fixed lengths, so their concatenation is unambiguous.
function keyOf({ key, job, generation, size }: GroupIdentity, rank: number, nonce: Buffer): Buffer {
  const numbers = Buffer.alloc(16);
  for (const [index, number] of [groupVersion, generation, size, rank].entries())
    numbers.writeUInt32BE(number, index * 4);
  return createHmac('sha256', key).update('coll memory\n').update(nonce).update(numbers).update(job).digest();
}
