import { randomBytes } from 'node:crypto';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { mostKeyBytes } from './store.js';

const fewestBytes = 16;
const fewestDifferent = 8;

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
 * Checks that a job key is not trivial to guess.
 * @throws ValueError unless the key is a string of at least 16 bytes, at least 8 of them different;
 * the message does not contain the key
 */
export function requireJobKey(jobKey: unknown, operation?: string): asserts jobKey is string {
  const bytes = typeof jobKey === 'string' ? Buffer.from(jobKey) : Buffer.of();
  const different = new Set(bytes).size;
  if (bytes.length >= fewestBytes && different >= fewestDifferent) return;
  const found = jobKey === undefined ? 'none' : `a ${typeof jobKey}`;
  const got = typeof jobKey === 'string' ? `${bytes.length} bytes, ${different} different` : found;
  const message = `a job key must be a string of at least ${fewestBytes} bytes, ${fewestDifferent} of them different, got ${got}`;
  const advice =
    'start the program with `coll run`, or give all members the same key, for example from: openssl rand -base64 32';
  throw new ValueError('ERR_COLL_VALUE', `${message}; ${advice}`, { operation });
}
