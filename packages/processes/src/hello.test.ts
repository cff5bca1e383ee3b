import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  controlChannel,
  decodeHello,
  decodeRefusal,
  encodeChallenge,
  encodeHello,
  encodeProof,
  encodeRefusal,
  encodeWelcome,
  type Hello,
  lengths,
  messageChannel,
  type Refusal,
  refusalOf,
  refusals,
  sealedControlChannel,
  sealedMessageChannel,
  secretBytes,
  secretOfProof,
  secretOfWelcome,
  watchChannel,
} from './hello.js';
import { type MemberConfig, memberOf } from './member-config.js';
import { groupVersion } from './peer-info.js';

const jobKey = randomBytes(16).toString('hex');
const [listening, connecting] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [
  MemberConfig,
  MemberConfig,
];
const { key } = listening;
const [ownSecret, otherSecret] = [randomBytes(secretBytes), randomBytes(secretBytes)];
const hello = encodeHello(connecting, 0, 0);
const challenge = encodeChallenge();
const proof = encodeProof(key, [hello, challenge], otherSecret);
const welcome = encodeWelcome(key, [hello, challenge, proof], ownSecret);

/** All copies of a message with one bit flipped. */
function* turned(message: Buffer, from = 0): Generator<Buffer> {
  for (let bit = 8 * from; bit < 8 * message.length; bit++) {
    const copy = Buffer.from(message);
    copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
    yield copy;
  }
}

describe('the handshake of two members', () => {
  it('has messages of the documented lengths', () => {
    const messages = { hello, challenge, proof, welcome };
    expect(Object.fromEntries(Object.entries(messages).map(([name, { length }]) => [name, length]))).toEqual(lengths);
  });

  it('gives each side the secret of the other side', () => {
    expect(secretOfProof(key, [hello, challenge], proof)).toEqual(otherSecret);
    expect(secretOfWelcome(key, [hello, challenge, proof], welcome)).toEqual(ownSecret);
  });

  it('refuses a proof if any bit of it or of an earlier message was changed', () => {
    for (const other of turned(hello)) expect(secretOfProof(key, [other, challenge], proof)).toBeUndefined();
    for (const other of turned(challenge)) expect(secretOfProof(key, [hello, other], proof)).toBeUndefined();
    for (const other of turned(proof)) expect(secretOfProof(key, [hello, challenge], other)).toBeUndefined();
  });

  it('refuses a welcome message if any bit of it or of an earlier message was changed', () => {
    for (const other of turned(hello)) expect(secretOfWelcome(key, [other, challenge, proof], welcome)).toBeUndefined();
    for (const other of turned(challenge)) expect(secretOfWelcome(key, [hello, other, proof], welcome)).toBeUndefined();
    for (const other of turned(proof)) expect(secretOfWelcome(key, [hello, challenge, other], welcome)).toBeUndefined();
    // The first five bytes only mark the message as a welcome, not a refusal.
    for (const other of turned(welcome, 5))
      expect(secretOfWelcome(key, [hello, challenge, proof], other)).toBeUndefined();
  });

  it('refuses a message that was made for the other direction', () => {
    const head = Buffer.alloc(5);
    const [before, after] = [[hello, challenge] as const, [hello, challenge, proof] as const];
    expect(secretOfWelcome(key, after, Buffer.concat([head, proof]))).toBeUndefined();
    expect(secretOfWelcome(key, before, Buffer.concat([head, proof]))).toBeUndefined();
    expect(secretOfProof(key, after, welcome.subarray(5))).toBeUndefined();
  });
});

describe('the first message of a handshake', () => {
  it('is refused if it has another length or prefix', () => {
    for (let length = 0; length < 2 * lengths.hello; length++) {
      const bytes = Buffer.concat([hello, hello]).subarray(0, length);
      expect(decodeHello(bytes) !== undefined).toBe(length === lengths.hello);
    }
    for (const other of turned(hello.subarray(0, 8)))
      expect(decodeHello(Buffer.concat([other, hello.subarray(8)]))).toBeUndefined();
    for (let round = 0; round < 1000; round++) expect(decodeHello(randomBytes(lengths.hello))).toBeUndefined();
  });

  it('is refused for any random content after its prefix', () => {
    for (let round = 0; round < 1000; round++) {
      const random = Buffer.concat([hello.subarray(0, 8), randomBytes(lengths.hello - 8)]);
      // One random version in 65,536 is the right one.
      if (random.readUInt16LE(8) === hello.readUInt16LE(8)) random.writeUInt16LE(0xffff, 8);
      const said = decodeHello(random);
      expect(said && refusalOf(said, listening)?.why).toBe('version');
      hello.copy(random, 8, 8, 10);
      expect(refusalOf(decodeHello(random) as never, listening)?.why).toBe('job');
    }
  });
});

describe('a parsed first message of a handshake', () => {
  const member = memberOf({ rank: 2, size: 5, generation: 7, job: 'mine', jobKey });
  const from = memberOf({ rank: 4, size: 5, generation: 7, job: 'mine', jobKey });
  const said = decodeHello(encodeHello(from, 2, watchChannel)) as Hello;

  it('contains both ranks, the group and the channel', () => {
    const job = createHash('sha256').update('mine').digest();
    expect(said).toEqual({ version: groupVersion, channel: watchChannel, from: 4, to: 2, size: 5, generation: 7, job });
  });

  it.each([controlChannel, sealedControlChannel, watchChannel, messageChannel, sealedMessageChannel])(
    'is accepted for channel %i',
    (channel) => {
      expect(refusalOf({ ...said, channel }, member)).toBeUndefined();
      expect(refusalOf({ ...said, channel, from: 3 }, member)).toBeUndefined();
    },
  );

  it.each<[string, Partial<Hello>, Refusal]>([
    ['another version', { version: 8 }, { why: 'version', detail: groupVersion }],
    ['another job', { job: Buffer.alloc(32) }, { why: 'job', detail: 0 }],
    ['another generation', { generation: 8 }, { why: 'generation', detail: 7 }],
    ['another listener', { to: 1 }, { why: 'rank', detail: 2 }],
    ['the rank of the listener', { from: 2 }, { why: 'rank', detail: 2 }],
    ['a lower rank', { from: 1 }, { why: 'rank', detail: 2 }],
    ['a rank beyond the group', { from: 5 }, { why: 'rank', detail: 2 }],
    ['another size', { size: 6 }, { why: 'size', detail: 5 }],
    ['an unknown channel', { channel: 2 }, { why: 'rank', detail: 2 }],
    ['a channel before the last ones', { channel: sealedMessageChannel - 1 }, { why: 'rank', detail: 2 }],
  ])('is refused because of %s', (_, more, refusal) => {
    expect(refusalOf({ ...said, ...more }, member)).toEqual(refusal);
  });
});

it.each(refusals.slice(1))('a refusal for the reason %s can be encoded and decoded with its detail', (why) => {
  expect(decodeRefusal(encodeRefusal({ why, detail: 70_000 }))).toEqual({ why, detail: 70_000 });
});

it('challenge and welcome messages are not taken for refusals', () => {
  expect([decodeRefusal(challenge), decodeRefusal(welcome)]).toEqual([undefined, undefined]);
  expect(decodeRefusal(Buffer.of(99, 0, 0, 0, 1))).toEqual({ why: 'no', detail: 1 });
});

it('a refusal of a member of version 5 has the length that version 5 expects', () => {
  const challengeOfVersion5 = 69;
  expect(encodeRefusal({ why: 'version', detail: 6 }).length).toBe(challengeOfVersion5);
});
