import { createHash, hkdfSync } from 'node:crypto';
import { isSameHost } from './host.js';
import { hostOf, type PeerInfo } from './peer-info.js';
import type { ProcessBinding } from './process-binding.js';
import type { SocketSeal } from './sealed-socket.js';

const halfBytes = 32;

/**
 * Derives what seals a connection, after its handshake. `said`: all messages of the handshake, which
 * contain both nonces, both ranks, the channel, version, job, generation and size. So no other
 * connection has the same key.
 */
export function sealOf(key: Buffer, said: readonly Buffer[]): SocketSeal {
  const hash = createHash('sha256');
  // All messages have fixed lengths, so their concatenation is unambiguous.
  for (const message of said) hash.update(message);
  const bytes = Buffer.from(hkdfSync('sha256', key, hash.digest(), 'coll seal', 2 * halfBytes));
  return { identity: bytes.subarray(0, halfBytes), key: bytes.subarray(halfBytes) };
}

/** Whether the connections between two members are sealed. All members get the same answer. */
export function isSealedBetween(peers: readonly PeerInfo[], one: number, other: number): boolean {
  const [own, far] = [peers[one], peers[other]] as [PeerInfo, PeerInfo];
  if (own.insecure) return false;
  return own.encrypt === 'always' || !isSameHost(hostOf(own), hostOf(far));
}

/**
 * Whether the connections between two members carry checksums, because they are between hosts and not
 * sealed. All members get the same answer.
 */
export function isChecksummedBetween(peers: readonly PeerInfo[], one: number, other: number): boolean {
  const [own, far] = [peers[one], peers[other]] as [PeerInfo, PeerInfo];
  return own.insecure && !isSameHost(hostOf(own), hostOf(far));
}

/** The TLS suite of the sealed connections between two members. */
export function cipherBetween(peers: readonly PeerInfo[], one: number, other: number): string {
  const ciphers = [one, other].map((rank) => peers[rank]?.cipher ?? '');
  // A member without instructions for AES is much slower with it than the other one is without.
  return ciphers.find((cipher) => cipher.includes('CHACHA20')) ?? (ciphers[0] as string);
}

/**
 * How the TCP connections of a member are protected, for logs: `encrypted by …` or `checksummed`;
 * undefined if none is.
 */
export function protectionOf(peers: readonly PeerInfo[], rank: number): string | undefined {
  const others = [...peers.keys()].filter((other) => other !== rank);
  if (others.some((other) => isChecksummedBetween(peers, rank, other))) return 'checksummed';
  const sealed = others.filter((other) => isSealedBetween(peers, rank, other));
  const ciphers = new Set(sealed.map((other) => cipherBetween(peers, rank, other)));
  return ciphers.size === 0 ? undefined : `encrypted by ${[...ciphers].sort().join(' and ')}`;
}

/** The TLS suite that this member prefers; empty if its runtime cannot seal connections. */
export function ownCipher(binding: ProcessBinding): string {
  // Bun offers the functions of node:tls, but ignores the pre-shared key.
  if ('bun' in process.versions) return '';
  const [cipher, problem] = binding.sealing();
  return problem === '' ? cipher : '';
}
