import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';

/*
 * First messages of TLS (RFC 8446 and RFC 5246), also those that no library sends.
 */

/** What an end knows that forges a first message: the identity as it is on the wire. */
export interface Forger {
  readonly identity: Buffer;
  readonly key: Buffer;
}

/** What a forged message offers: everything, no Diffie-Hellman exchange, or no TLS 1.3. */
export type Offer = 'TLS 1.3' | 'TLS 1.3 without key share' | 'TLS 1.2';

const hashBytes = 32;
const versions = { tls12: Buffer.of(3, 3), tls13: Buffer.of(3, 4) } as const;
const suites = { aes128: Buffer.of(0x13, 0x01), ecdhePsk: Buffer.of(0xcc, 0xac) } as const;
const x25519 = Buffer.of(0, 0x1d);
const types = { clientHello: 1, serverHello: 2, alert: 21, handshake: 22 } as const;
const extensions = {
  groups: 10,
  pointFormats: 11,
  preSharedKey: 41,
  versions: 43,
  exchangeModes: 45,
  keyShare: 51,
} as const;

/** A client's first message, with a valid proof that it has the key. */
export function forgedHello(forger: Forger, offer: Offer): Buffer {
  const random = randomBytes(hashBytes);
  const helloWith = (more: readonly Buffer[]) => {
    const suite = offer === 'TLS 1.2' ? suites.ecdhePsk : suites.aes128;
    const body = [versions.tls12, random, sized(1, Buffer.of()), sized(2, suite), sized(1, Buffer.of(0))];
    return message(types.clientHello, [...body, sized(2, Buffer.concat(more))]);
  };
  const groups = extension('groups', sized(2, x25519));
  if (offer === 'TLS 1.2') return record(helloWith([groups, extension('pointFormats', sized(1, Buffer.of(0)))]));
  const version = extension('versions', sized(1, versions.tls13));
  const modes = (mode: number) => extension('exchangeModes', sized(1, Buffer.of(mode)));
  const share = sized(2, Buffer.concat([x25519, sized(2, publicKey())]));
  const offered = offer === 'TLS 1.3' ? [version, groups, modes(1), extension('keyShare', share)] : [version, modes(0)];
  return record(proven((key) => helloWith([...offered, key]), forger));
}

/** A server's answer to a client's first message. */
export function forgedAnswer(clientHello: Buffer, offer: Offer): Buffer {
  // After the heads of the record and of the message, the version and the random bytes.
  const sessionAt = 5 + 4 + 2 + hashBytes;
  const session = clientHello.subarray(sessionAt, sessionAt + 1 + (clientHello[sessionAt] as number));
  const keyed = [extension('versions', versions.tls13), extension('preSharedKey', Buffer.of(0, 0))];
  const share = extension('keyShare', Buffer.concat([x25519, sized(2, publicKey())]));
  const more = offer === 'TLS 1.2' ? [] : offer === 'TLS 1.3' ? [...keyed, share] : keyed;
  const suite = offer === 'TLS 1.2' ? suites.ecdhePsk : suites.aes128;
  const body = [versions.tls12, randomBytes(hashBytes), session, suite, Buffer.of(0)];
  return record(message(types.serverHello, [...body, sized(2, Buffer.concat(more))]));
}

/** The types of the records in clear at the beginning of a stream. */
export function recordsOf(stream: Buffer): readonly ('alert' | 'handshake' | 'other')[] {
  const found: ('alert' | 'handshake' | 'other')[] = [];
  for (let at = 0; at + 5 <= stream.length; at += 5 + stream.readUInt16BE(at + 3)) {
    const type = stream[at];
    found.push(type === types.alert ? 'alert' : type === types.handshake ? 'handshake' : 'other');
  }
  return found;
}

/** The message with the identity of the key, and a proof that its sender has the key (RFC 8446, 4.2.11). */
function proven(helloWith: (key: Buffer) => Buffer, { identity, key }: Forger): Buffer {
  const withProof = (proof: Buffer) => {
    const identities = sized(2, Buffer.concat([sized(2, identity), Buffer.alloc(4)]));
    return helloWith(extension('preSharedKey', Buffer.concat([identities, sized(2, sized(1, proof))])));
  };
  const proofBytes = 2 + 1 + hashBytes;
  const before = withProof(Buffer.alloc(hashBytes)).subarray(0, -proofBytes);
  const early = createHmac('sha256', Buffer.alloc(hashBytes)).update(key).digest();
  const finished = expanded(expanded(early, 'ext binder', sha256(Buffer.of())), 'finished', Buffer.of());
  return withProof(createHmac('sha256', finished).update(sha256(before)).digest());
}

/** One block of HKDF-Expand-Label. */
function expanded(secret: Buffer, label: string, context: Buffer): Buffer {
  const info = [Buffer.of(0, hashBytes), sized(1, Buffer.from(`tls13 ${label}`)), sized(1, context), Buffer.of(1)];
  return createHmac('sha256', secret).update(Buffer.concat(info)).digest();
}

function publicKey(): Buffer {
  const { publicKey: key } = generateKeyPairSync('x25519');
  return key.export({ type: 'spki', format: 'der' }).subarray(-32);
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
const message = (type: number, body: readonly Buffer[]) =>
  Buffer.concat([Buffer.of(type), sized(3, Buffer.concat(body))]);
const record = (content: Buffer) => Buffer.concat([Buffer.of(types.handshake), versions.tls12, sized(2, content)]);
const extension = (name: keyof typeof extensions, bytes: Buffer) =>
  Buffer.concat([Buffer.of(0, extensions[name]), sized(2, bytes)]);

/** The bytes, after their length in a number of bytes. */
function sized(lengthBytes: number, bytes: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(bytes.length, 0, lengthBytes);
  return Buffer.concat([length, bytes]);
}
