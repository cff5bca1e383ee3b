import { randomBytes } from 'node:crypto';
import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { UnavailableError } from '@coll/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ConnectOptions, connect } from './connect.js';
import {
  encodeChallenge,
  encodeHello,
  encodeProof,
  encodeRefusal,
  encodeWelcome,
  lengths,
  type Refusal,
  refusals,
  secretBytes,
} from './hello.js';
import { Listener } from './listener.js';
import { type MemberConfig, memberOf } from './member-config.js';
import type { Address } from './peer-info.js';
import type { ProcessBinding } from './process-binding.js';
import { Sockets } from './sockets.js';

const jobKey = randomBytes(16).toString('hex');
const host = '127.0.0.1';
const [listening, connecting] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [
  MemberConfig,
  MemberConfig,
];
const { key } = connecting;
const otherKey = randomBytes(32);
const secret = randomBytes(secretBytes);
/** The secret that rank 0 would send to rank 1. */
const listenersSecret = randomBytes(secretBytes);

/** A test double that keeps the descriptors of Node.js, which closes them. */
const untaken = { takeSocket: (descriptor: number) => descriptor, closeSocket: () => {} } as unknown as ProcessBinding;

/** The messages that an impostor has exchanged with rank 1 so far. */
interface Heard {
  readonly hello: Buffer;
  readonly challenge: Buffer;
  readonly proof: Buffer;
}

/** A program that listens at the address where rank 1 expects rank 0. */
interface Impostor {
  challenge(): Buffer;
  welcome(heard: Heard): Buffer;
}

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function listen(serve: (socket: Socket) => void): Promise<Address> {
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  servers.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  return { host, port: (server.address() as AddressInfo).port };
}

function connectTo(addresses: readonly Address[], more: Partial<ConnectOptions> = {}) {
  const { signal } = new AbortController();
  const common = { member: connecting, secret, sockets: new Sockets(untaken), rank: 0, channel: 0 };
  return connect({ ...common, addresses, signal, ...more });
}

/** Connects rank 1 to an impostor. Returns the error and all bytes that the impostor received. */
async function meet({ challenge, welcome }: Impostor): Promise<{ address: Address; error: unknown; read: Buffer }> {
  let read = Buffer.of();
  let ended: Promise<unknown> | undefined;
  const over = new AbortController();
  const address = await listen((socket) => {
    if (ended) over.abort(new Error('rank 1 came again'));
    ended = once(socket, 'close');
    let challenged: Buffer | undefined;
    socket.on('data', (part) => {
      read = Buffer.concat([read, part]);
      const [hello, proof] = [read.subarray(0, lengths.hello), read.subarray(lengths.hello)];
      if (!challenged && hello.length === lengths.hello) {
        challenged = challenge();
        socket.write(challenged);
      }
      if (challenged && proof.length === lengths.proof) socket.write(welcome({ hello, challenge: challenged, proof }));
    });
  });
  const error = await connectTo([address], { signal: over.signal }).catch((reason: unknown) => reason);
  await ended;
  return { address, error, read };
}

/** A copy of a message with one bit flipped. */
function turned(message: Buffer, at: number): Buffer {
  const copy = Buffer.from(message);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}

const unproven = ({ host, port }: Address) => ({
  name: 'CollError',
  code: 'ERR_COLL_STORE',
  rank: 1,
  operation: 'open a group',
  message: expect.stringContaining(
    `another process answers at ${host}:${port}, the address of rank 0: it failed to prove to rank 1 that it has the job key`,
  ),
});

describe("connecting to an impostor that listens at a member's address", () => {
  const anotherHello = encodeHello(connecting, 0, 0);
  const welcomeOf = ({ hello, challenge, proof }: Heard, by = key) =>
    encodeWelcome(by, [hello, challenge, proof], listenersSecret);

  it.each<[string, Impostor['welcome']]>([
    ['random bytes', () => Buffer.concat([Buffer.alloc(5), randomBytes(lengths.welcome - 5)])],
    ['made with another key', (heard) => welcomeOf(heard, otherKey)],
    ['recorded from another connection', (heard) => welcomeOf({ ...heard, hello: anotherHello })],
    ['made for another challenge', (heard) => welcomeOf({ ...heard, challenge: encodeChallenge() })],
    ['changed in its secret', (heard) => turned(welcomeOf(heard), 5)],
    ['changed in its proof', (heard) => turned(welcomeOf(heard), lengths.welcome - 1)],
    ['the own proof sent back', ({ proof }) => Buffer.concat([Buffer.alloc(5), proof])],
    [
      'sealed as a proof',
      ({ hello, challenge, proof }) =>
        Buffer.concat([Buffer.alloc(5), encodeProof(key, [hello, challenge, proof], secret)]),
    ],
  ])('rejects a welcome message that is %s', async (_, welcome) => {
    // An impostor could forward the challenge of a real member.
    const { address, error, read } = await meet({ challenge: encodeChallenge, welcome });
    expect(error).toMatchObject(unproven(address));
    expect(read.length).toBe(lengths.hello + lengths.proof);
    for (let at = 0; at + 8 <= secret.length; at += 8) expect(read.indexOf(secret.subarray(at, at + 8))).toBe(-1);
  });
});

it('connecting returns the secret that the real member sends in its welcome message', async () => {
  const options = { member: listening, host, secret: listenersSecret, sockets: new Sockets(untaken) };
  const listener = await Listener.listen(options);
  const { signal } = new AbortController();
  const accepted = listener.accept(1, 0, signal);
  const connection = await connectTo([listener.address], { signal });
  expect(connection).toMatchObject({ rank: 0, channel: 0, secret: listenersSecret });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(await accepted).toMatchObject({ rank: 1, channel: 0, secret });
  listener.close();
});

it('connecting rejects with the reason of its signal if it is aborted while a listener is silent', async () => {
  const over = new AbortController();
  const reason = new Error('enough');
  const silent = await listen((socket) => socket.on('data', () => over.abort(reason)));
  const missed = vi.fn();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended = vi.fn();
  const aborted = once(over.signal, 'abort');
  connectTo([silent], { signal: over.signal, onMissed: missed }).catch(ended);
  await aborted;
  // 5 seconds: half of the time that a listener has for its answer.
  for (let step = 0; step < 100; step++) await vi.advanceTimersByTimeAsync(50);
  expect(ended.mock.calls).toEqual([[reason]]);
  expect(missed).not.toHaveBeenCalled();
  expect(getEventListeners(over.signal, 'abort')).toEqual([]);
});

it('connecting tries again when a connection ends before the group could use it', async () => {
  const options = { member: listening, host, secret: listenersSecret, sockets: new Sockets(untaken) };
  const listener = await Listener.listen(options);
  const ended = new UnavailableError('ERR_COLL_PEER_FAILED', 'a connection closed before the group could use it');
  const sockets = new Sockets(untaken);
  vi.spyOn(sockets, 'take').mockImplementationOnce(() => {
    throw ended;
  });
  const missed = vi.fn();
  const connection = await connectTo([listener.address], { sockets, onMissed: missed });
  expect(connection).toMatchObject({ rank: 0, secret: listenersSecret });
  expect(missed.mock.calls).toEqual([[ended]]);
  listener.close();
});

it.each(['before', 'while it waits to try again'])(
  'connecting rejects with the reason of its signal if it is aborted %s',
  async (when) => {
    const over = new AbortController();
    const reason = new Error('enough');
    if (when === 'before') over.abort(reason);
    // Nothing listens at port 1, and fake timers prevent a second attempt.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const missed = vi.fn(() => setImmediate(() => over.abort(reason)));
    const connected = connectTo([{ host, port: 1 }], { signal: over.signal, onMissed: missed });
    await expect(connected).rejects.toBe(reason);
    expect(missed).toHaveBeenCalledTimes(when === 'before' ? 0 : 1);
    expect(getEventListeners(over.signal, 'abort')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  },
);

it.each<[Refusal, string]>([
  [{ why: 'version', detail: 99 }, 'rank 1: it uses version 99'],
  [{ why: 'job', detail: 0 }, 'rank 1: it belongs to another job than ""'],
  [{ why: 'generation', detail: 7 }, 'rank 1: its group has generation 7, this group has 0'],
  [{ why: 'size', detail: 3 }, 'rank 1: its group has size 3, this group has 2'],
  [{ why: 'rank', detail: 3 }, 'the address of rank 0: it refused rank 1: it is rank 3'],
  [{ why: 'rank', detail: 1 }, 'rank 1: it is rank 1, this member itself'],
  [{ why: 'key', detail: 0 }, 'has a different job key, or another process answers at this address'],
])('connecting reports the refusal %o that a listener sends before or after the proof', async (refused, message) => {
  await expectRefused(encodeRefusal(refused), message);
});

it('connecting reports that a listener refused it for an unknown reason', () =>
  expectRefused(Buffer.alloc(lengths.welcome, refusals.length), 'rank 1: it gave no reason'));

async function expectRefused(refusal: Buffer, message: string): Promise<void> {
  const welcome = () => refusal;
  for (const listener of [
    { challenge: () => refusal, welcome },
    { challenge: encodeChallenge, welcome },
  ]) {
    const { error } = await meet(listener);
    const details = { code: 'ERR_COLL_STORE', rank: 1, operation: 'open a group' };
    expect(error).toMatchObject({ ...details, message: expect.stringContaining(message) });
  }
}

it.each<[string, (socket: Socket) => void]>([
  ['nothing', () => {}],
  ['half a challenge', (socket) => socket.write(Buffer.alloc(lengths.challenge - 1))],
  ['a challenge, but no welcome', (socket) => socket.once('data', () => socket.write(encodeChallenge()))],
])(
  'connecting gives up after 10 seconds on a listener that answers %s, and tries the next address',
  async (_, answer) => {
    let connected: Promise<unknown> | undefined;
    let hear = () => {};
    const heard = new Promise<void>((resolve) => {
      hear = resolve;
    });
    let ended: Promise<unknown> | undefined;
    const silent = await listen((socket) => {
      ended = once(socket, 'close');
      answer(socket);
      socket.on('data', hear);
    });
    const listener = await Listener.listen({ member: listening, host, secret, sockets: new Sockets(untaken) });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const missed: unknown[] = [];
    const retried = new Promise<void>((resolve) => {
      const onMissed = (why: unknown) => {
        missed.push(why);
        setImmediate(resolve);
      };
      connected = connectTo([silent, listener.address], { onMissed });
    });
    await heard;
    await vi.advanceTimersByTimeAsync(9_999);
    expect(missed).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all([ended, retried]);
    expect(missed).toEqual([new Error('the other side did not identify itself in time')]);
    await vi.advanceTimersByTimeAsync(50);
    expect(await connected).toMatchObject({ rank: 0, channel: 0 });
    listener.close();
  },
);
