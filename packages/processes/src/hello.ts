import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import type { MemberConfig } from './member-config.js';
import { groupVersion } from './peer-info.js';

/*
 * The connecting member (C) proves that it has the job key before the accepting member (A) sends
 * anything derived from that key; then A proves it as well:
 *
 *     C to A   hello       who I am, whom I want, a fresh nonce    92 bytes
 *     A to C   challenge   a fresh nonce; or a refusal             37 bytes
 *     C to A   proof       the secret of C, sealed                 64 bytes
 *     A to C   welcome     the secret of A, sealed; or a refusal   69 bytes
 *
 * Every message has a fixed length, and no byte beyond it is stored. A secret is sealed with
 * AES-256-GCM under a key for this single message: the HMAC-SHA256, keyed by the job key, of the
 * direction and all previous messages, which include both nonces and both ranks. Only members can
 * seal and open it, and it cannot be replayed or reflected.
 *
 * If the channel is a sealed one, TLS follows, under a key derived from the job key and all four
 * messages (sealing.ts). The handshake above then only spares the listener TLS handshakes with
 * strangers, and lets it say why it refuses a member.
 */
export const lengths = { hello: 92, challenge: 37, proof: 64, welcome: 69 } as const;

/** The channel over which neighbours watch each other once the group is open. */
export const controlChannel = 0;

/** The same, if the connection is sealed after this handshake. */
export const sealedControlChannel = 1;

/** The channel on which neighbouring ranks detect each other's exit while the group opens. */
export const watchChannel = 0xffff;

/** The channel of messages between two members of an open group. */
export const messageChannel = 0xfffe;

/** The same, if the connection is sealed after this handshake. */
export const sealedMessageChannel = 0xfffd;

const channels: readonly number[] = [
  controlChannel,
  sealedControlChannel,
  watchChannel,
  messageChannel,
  sealedMessageChannel,
];

/**
 * Length in bytes of the shared-memory secret, which only members may know. A member without shared
 * memory sends zeros.
 */
export const secretBytes = 48;

/** Reasons for a refusal. Messages contain the index of the reason. */
export const refusals = ['no', 'version', 'job', 'generation', 'rank', 'key', 'size'] as const;

/** A reason for a refusal, and a number that adds detail. */
export interface Refusal {
  readonly why: (typeof refusals)[number];
  readonly detail: number;
}

/**
 * The first message of a connection: names the connecting rank, the accepting rank and the channel.
 */
export interface Hello {
  readonly version: number;
  /** What the connection is for, and whether it is sealed. */
  readonly channel: number;
  readonly from: number;
  readonly to: number;
  readonly size: number;
  readonly generation: number;
  readonly job: Buffer;
}

const magic = Buffer.from('coll-grp');
const nonceBytes = 32;
const headBytes = 5;
const tagBytes = 16;
const seal = 'aes-256-gcm';
// A constant IV is safe because each key seals a single message.
const noIv = Buffer.alloc(12);

/** Encodes the first message of a connection, with a fresh nonce. */
export function encodeHello(member: MemberConfig, to: number, channel: number): Buffer {
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

/** Decodes the first message of a connection; undefined if it is not a hello. */
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

/** The reason to refuse the sender of a hello; undefined to accept it. */
export function refusalOf(hello: Hello, member: MemberConfig): Refusal | undefined {
  if (hello.version !== groupVersion) return { why: 'version', detail: groupVersion };
  if (!hello.job.equals(jobHash(member.job))) return { why: 'job', detail: 0 };
  if (hello.generation !== member.generation) return { why: 'generation', detail: member.generation };
  if (hello.size !== member.size) return { why: 'size', detail: member.size };
  // The lower rank listens.
  const isPeer = hello.to === member.rank && hello.from > member.rank && hello.from < member.size;
  return isPeer && channels.includes(hello.channel) ? undefined : { why: 'rank', detail: member.rank };
}

/**
 * Encodes the challenge with which a listener answers a hello (the first message of a connection).
 */
export function encodeChallenge(): Buffer {
  return Buffer.concat([Buffer.alloc(headBytes), randomBytes(nonceBytes)]);
}

/**
 * Encodes a proof that the connecting member has the key. `said`: the previous messages of this
 * handshake.
 */
export function encodeProof(key: Buffer, said: readonly Buffer[], secret: Buffer): Buffer {
  return encrypted(keyOf(key, 'proof', said), secret);
}

/**
 * Encodes a proof that the listener has the key. It is sent once the connecting member has proven
 * that it has the key.
 */
export function encodeWelcome(key: Buffer, said: readonly Buffer[], secret: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(headBytes), encrypted(keyOf(key, 'welcome', said), secret)]);
}

/**
 * Encodes a refusal, sent in place of a challenge or a welcome. It has the length of a challenge in
 * protocol version 5, so that members of that version can read it.
 */
export function encodeRefusal({ why, detail }: Refusal): Buffer {
  const bytes = Buffer.alloc(lengths.welcome);
  bytes.writeUInt8(refusals.indexOf(why), 0);
  bytes.writeUInt32BE(detail, 1);
  return bytes;
}

/** Decodes a refusal; undefined if the message is not a refusal. */
export function decodeRefusal(bytes: Buffer): Refusal | undefined {
  const why = bytes.readUInt8(0);
  return why === 0 ? undefined : { why: refusals[why] ?? 'no', detail: bytes.readUInt32BE(1) };
}

/**
 * The secret in the proof of a connecting member. Undefined unless the proof was made for this
 * connection with the key.
 */
export function secretOfProof(key: Buffer, said: readonly Buffer[], proof: Buffer): Buffer | undefined {
  return decrypted(keyOf(key, 'proof', said), proof);
}

/**
 * The secret in the welcome of a listener. Undefined unless the welcome was made for this
 * connection with the key.
 */
export function secretOfWelcome(key: Buffer, said: readonly Buffer[], welcome: Buffer): Buffer | undefined {
  return decrypted(keyOf(key, 'welcome', said), welcome.subarray(headBytes));
}

function encrypted(key: Buffer, secret: Buffer): Buffer {
  const cipher = createCipheriv(seal, key, noIv);
  return Buffer.concat([cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
}

function decrypted(key: Buffer, message: Buffer): Buffer | undefined {
  const decipher = createDecipheriv(seal, key, noIv, { authTagLength: tagBytes });
  const secret = decipher.update(message.subarray(0, -tagBytes));
  decipher.setAuthTag(message.subarray(-tagBytes));
  try {
    decipher.final();
    return secret;
  } catch {
    return undefined;
  }
}

// All messages have fixed lengths, so their concatenation is unambiguous.
function keyOf(key: Buffer, direction: 'proof' | 'welcome', said: readonly Buffer[]): Buffer {
  const mac = createHmac('sha256', key).update(`coll ${direction}\n`);
  for (const message of said) mac.update(message);
  return mac.digest();
}

function jobHash(job: string): Buffer {
  return createHash('sha256').update(job).digest();
}
