import { hkdfSync, randomBytes } from 'node:crypto';
import { quote, ValueError } from '@coll/core';
import { mostKeyBytes } from './store.js';

const fewestBytes = 16;

/** A new secret for a job: who has it is a member. */
export function newJobKey(): string {
  return randomBytes(32).toString('base64url');
}

/** @throws ValueError for what is no name of a job */
export function requireJob(job: unknown): asserts job is string {
  if (typeof job === 'string' && Buffer.byteLength(job) <= mostKeyBytes) return;
  throw new ValueError('ERR_COLL_VALUE', `a job is a name of ${mostKeyBytes} bytes at most, not ${quote(job)}`);
}

/** The key of a job's connections. @throws ValueError for a secret that can be guessed */
export function connectionKey(jobKey: unknown): Buffer {
  if (typeof jobKey === 'string' && Buffer.byteLength(jobKey) >= fewestBytes)
    return Buffer.from(hkdfSync('sha256', jobKey, 'coll', 'store', 32));
  // The key itself must not get into logs.
  const told = typeof jobKey === 'string' ? `one of ${Buffer.byteLength(jobKey)}` : `a ${typeof jobKey}`;
  const cure = 'TcpStoreServer.newKey() makes one';
  throw new ValueError('ERR_COLL_VALUE', `a job key is a text of ${fewestBytes} bytes or more, not ${told}; ${cure}`);
}

/** Of TLS with a key that both sides have: each proves it to the other, and there are no certificates. */
export const preSharedKeys = {
  ciphers: 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
} as const;

export const pskIdentity = 'coll';
