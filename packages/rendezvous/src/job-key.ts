import { randomBytes } from 'node:crypto';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { mostKeyBytes } from './store.js';

const fewestDifferent = { hex: 6, base64: 12 };

/** How to give all members a key, for error messages. */
export const howToSet =
  'make a key with `npx coll key`, and set it on all members as COLL_JOB_KEY, or its file as COLL_JOB_KEY_FILE';

/** Makes a secret for a new job. Every process that has the secret can join the job. */
export function newJobKey(): string {
  return randomBytes(32).toString('base64url');
}

/** @throws ValueError unless `job` is a string of at most 512 bytes */
export function requireJob(job: unknown): asserts job is string {
  if (typeof job === 'string' && Buffer.byteLength(job) <= mostKeyBytes) return;
  throw new ValueError('ERR_COLL_VALUE', `job must be a string of at most ${mostKeyBytes} bytes, got ${quote(job)}`);
}

/**
 * Checks that a job key has a form that random bytes have, because everybody on the network can try
 * guesses: at least 32 hexadecimal digits, 6 of them different, or at least 22 characters of base64
 * or base64url, 12 of them different.
 * @throws ValueError (ERR_COLL_VALUE) for anything else; the message does not contain the key
 */
export function requireJobKey(jobKey: unknown, operation?: string): asserts jobKey is string {
  const found = typeof jobKey === 'string' ? flawOf(jobKey) : `a value of type ${typeof jobKey}`;
  if (found === undefined) return;
  const got = jobKey === undefined ? 'none' : found;
  const message = `a job key must be 32 or more hexadecimal digits, or 22 or more characters of base64 with ${fewestDifferent.base64} different ones, got ${got}`;
  const advice = `start the program with \`coll run\`, or ${howToSet}`;
  throw new ValueError('ERR_COLL_VALUE', `${message}: ${advice}`, { operation });
}

/** What is wrong with a text as a job key; undefined if nothing is. */
function flawOf(text: string): string | undefined {
  if (/\s/.test(text)) return 'a text with white space';
  const base64 = /^([\w-]+|[A-Za-z0-9+/]+)={0,2}$/.exec(text)?.[1];
  if (base64 === undefined) return 'a text with other characters';
  const isHex = /^[0-9a-f]+$/i.test(text);
  const different = new Set(isHex ? base64.toLowerCase() : base64).size;
  const isLong = base64.length >= (isHex ? 32 : 22);
  if (isLong && different >= (isHex ? fewestDifferent.hex : fewestDifferent.base64)) return undefined;
  return `${base64.length} ${isHex ? 'hexadecimal digits' : 'characters'}, ${different} different`;
}
