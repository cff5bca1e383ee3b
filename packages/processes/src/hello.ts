import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { groupVersion } from './card.js';
import type { Member } from './member.js';
import { mostStreams } from './streams.js';

/*
 * Who connects (C) and who accepts (A) prove to each other that they have the job key before either believes anything:
 *
 *     C to A   hello       who I am, whom I want, a fresh nonce                                92 bytes
 *     A to C   challenge   a fresh nonce, and a proof over all of this; or why not             69 bytes
 *     C to A   proof       what only a member may know, and a proof over all of this           80 bytes
 *     A to C   welcome     the same of the other side; or why not                              85 bytes
 *
 * Every message has its length, and nothing is kept of a longer one. A proof is an HMAC-SHA256 by the job key over
 * both nonces and all that was said before, so that none can be used again.
 */
export const lengths = { hello: 92, challenge: 69, proof: 80, welcome: 85 } as const;

/** The channel by which neighbours in rank see each other end while the group opens. */
export const watchChannel = 0xffff;

/** What members tell each other in the proofs, for shared memory; zeros where there is none. */
export const secretBytes = 48;

/** Why somebody is refused; the numbers are sent. */
export const refusals = ['no', 'version', 'job', 'generation', 'rank', 'key'] as const;

/** Why somebody is refused, with a number that says more. */
export interface Refusal {
  readonly why: (typeof refusals)[number];
  readonly detail: number;
}

/** Who connects to whom, and for what. */
export interface Hello {
  readonly version: number;
  /** 0: for members to watch each other once the group is open; from 1 on: for data; or `watchChannel`. */
  readonly channel: number;
  readonly from: number;
  readonly to: number;
  readonly size: number;
  readonly generation: number;
  readonly job: Buffer;
}

const magic = Buffer.from('coll-grp');
const nonceBytes = 32;
const macBytes = 32;

/** The first message, with a fresh nonce. */
export function encodeHello(member: Member, to: number, channel: number): Buffer {
  const bytes = Buffer.alloc(lengths.hello - nonceBytes);
  magic.copy(bytes);
  bytes.writeUInt16BE(groupVersion, 8);
  bytes.writeUInt16BE(channel, 10);
  bytes.writeUInt32BE(member.rank, 12);
  bytes.writeUInt32BE(to, 16);
  bytes.writeUInt32BE(member.size, 20);
  bytes.writeUInt32BE(member.generation, 24);
  jobHash(member.job).copy(bytes, 28);
  return Buffer.concat([bytes, randomBytes(nonceBytes)]);
}

/** What a first message says; undefined where it is none. */
export function decodeHello(bytes: Buffer): Hello | undefined {
  if (bytes.length !== lengths.hello || !bytes.subarray(0, 8).equals(magic)) return undefined;
  return {
    version: bytes.readUInt16BE(8),
    channel: bytes.readUInt16BE(10),
    from: bytes.readUInt32BE(12),
    to: bytes.readUInt32BE(16),
    size: bytes.readUInt32BE(20),
    generation: bytes.readUInt32BE(24),
    job: bytes.subarray(28, 60),
  };
}

/** Why whoever says this does not belong here; undefined where he may. */
export function refusalOf(hello: Hello, member: Member): Refusal | undefined {
  if (hello.version !== groupVersion) return { why: 'version', detail: groupVersion };
  if (!hello.job.equals(jobHash(member.job))) return { why: 'job', detail: 0 };
  if (hello.generation !== member.generation) return { why: 'generation', detail: member.generation };
  // The lower rank listens.
  const isWanted = hello.to === member.rank && hello.from > member.rank && hello.from < member.size;
  if (!isWanted || hello.size !== member.size) return { why: 'rank', detail: member.rank };
  const isKnown = hello.channel <= mostStreams(member) || hello.channel === watchChannel;
  return isKnown ? undefined : { why: 'rank', detail: member.rank };
}

/** What a listener answers to a hello: a number used once, and that it has the key. */
export function encodeChallenge(key: Buffer, hello: Buffer): Buffer {
  const head = Buffer.concat([Buffer.alloc(5), randomBytes(nonceBytes)]);
  return Buffer.concat([head, proofOf(key, 'challenge', hello, head)]);
}

/** What proves that the caller has the key, and only a member may know. */
export function encodeProof(key: Buffer, hello: Buffer, challenge: Buffer, secret: Buffer): Buffer {
  return Buffer.concat([secret, proofOf(key, 'proof', hello, challenge, secret)]);
}

/** What proves the same of the listener, to a caller who has proven it. */
export function encodeWelcome(key: Buffer, hello: Buffer, challenge: Buffer, proof: Buffer, secret: Buffer): Buffer {
  const head = Buffer.concat([Buffer.alloc(5), secret]);
  return Buffer.concat([head, proofOf(key, 'welcome', hello, challenge, proof, head)]);
}

/** In place of a challenge or a welcome. */
export function encodeRefusal({ why, detail }: Refusal, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUInt8(refusals.indexOf(why), 0);
  bytes.writeUInt32BE(detail, 1);
  return bytes;
}

/** What a challenge or a welcome says in place of itself; undefined where it is one. */
export function decodeRefusal(bytes: Buffer): Refusal | undefined {
  const why = bytes.readUInt8(0);
  return why === 0 ? undefined : { why: refusals[why] ?? 'no', detail: bytes.readUInt32BE(1) };
}

/** Whether who sent a challenge has the key. */
export function isChallenge(key: Buffer, hello: Buffer, challenge: Buffer): boolean {
  const [head, mac] = split(challenge);
  return timingSafeEqual(mac, proofOf(key, 'challenge', hello, head));
}

/** What only a member may know; undefined where the proof is none. */
export function secretOfProof(key: Buffer, hello: Buffer, challenge: Buffer, proof: Buffer): Buffer | undefined {
  const [secret, mac] = split(proof);
  return timingSafeEqual(mac, proofOf(key, 'proof', hello, challenge, secret)) ? secret : undefined;
}

/** The same of the other side. */
export function secretOfWelcome(
  key: Buffer,
  hello: Buffer,
  challenge: Buffer,
  proof: Buffer,
  welcome: Buffer,
): Buffer | undefined {
  const [head, mac] = split(welcome);
  const isTrue = timingSafeEqual(mac, proofOf(key, 'welcome', hello, challenge, proof, head));
  return isTrue ? head.subarray(5) : undefined;
}

function split(message: Buffer): [head: Buffer, mac: Buffer] {
  return [message.subarray(0, message.length - macBytes), message.subarray(message.length - macBytes)];
}

// All parts are of fixed lengths, so that they can be joined.
function proofOf(key: Buffer, label: string, ...parts: readonly Buffer[]): Buffer {
  const mac = createHmac('sha256', key).update(`coll ${label}\n`);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

function jobHash(job: string): Buffer {
  return createHash('sha256').update(job).digest();
}
