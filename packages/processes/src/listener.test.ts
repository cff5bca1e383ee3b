import { randomBytes } from 'node:crypto';
import { getEventListeners, once, setMaxListeners } from 'node:events';
import { connect as dial, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connect } from './connect.js';
import { decodeRefusal, encodeHello, encodeProof, lengths, messageChannel, secretBytes } from './hello.js';
import { Listener } from './listener.js';
import { type MemberConfig, memberOf } from './member-config.js';
import type { ProcessBinding } from './process-binding.js';
import { Sockets } from './sockets.js';

const jobKey = randomBytes(16).toString('hex');
const size = 300;

/** A test double that keeps the descriptors of Node.js, which closes them. */
const untaken = { takeSocket: (descriptor: number) => descriptor, closeSocket: () => {} } as unknown as ProcessBinding;

afterEach(() => {
  vi.useRealTimers();
});

it('the listener accepts as many members as the group has, one after the other', async () => {
  const memberAt = (rank: number) => memberOf({ rank, size, jobKey });
  const secret = Buffer.alloc(secretBytes);
  const sockets = new Sockets(untaken);
  const listener = await Listener.listen({ member: memberAt(0), host: '127.0.0.1', secret, sockets });
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const ranks = Array.from({ length: size - 1 }, (_, index) => index + 1);
  const accepted = Promise.all(ranks.map((rank) => listener.accept(rank, 0, signal)));
  const common = { rank: 0, addresses: [listener.address], channel: 0, signal, secret, sockets };
  for (const rank of ranks) await connect({ ...common, member: memberAt(rank) });
  expect((await accepted).map(({ rank }) => rank)).toEqual(ranks);
  listener.close();
});

it('the listener lets a member connect again if it could not take over the first connection', async () => {
  const secret = Buffer.alloc(secretBytes);
  const [own, peer] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [MemberConfig, MemberConfig];
  const takeSocket = vi.fn((descriptor: number) => descriptor);
  takeSocket.mockImplementationOnce(() => {
    throw new Error('too many open files');
  });
  const sockets = new Sockets({ ...untaken, takeSocket } as unknown as ProcessBinding);
  const listener = await Listener.listen({ member: own, host: '127.0.0.1', secret, sockets });
  const { signal } = new AbortController();
  const accepted = listener.accept(1, messageChannel, signal);
  const onMissed = vi.fn();
  const options = { rank: 0, addresses: [listener.address], channel: messageChannel, signal, secret, onMissed };
  await connect({ ...options, sockets: new Sockets(untaken), member: peer });
  expect(await accepted).toMatchObject({ rank: 1, channel: messageChannel });
  expect([takeSocket.mock.calls.length, onMissed.mock.calls.length]).toEqual([2, 1]);
  listener.close();
});

it('the listener stops waiting for a member when its signal is aborted, and rejects with the reason', async () => {
  const secret = Buffer.alloc(secretBytes);
  const member = memberOf({ rank: 0, size: 2, jobKey });
  const listener = await Listener.listen({ member, host: '127.0.0.1', secret, sockets: new Sockets(untaken) });
  const over = new AbortController();
  const accepted = listener.accept(1, 0, over.signal);
  expect(getEventListeners(over.signal, 'abort')).toHaveLength(1);
  over.abort(new Error('enough'));
  await expect(accepted).rejects.toThrow('enough');
  expect(getEventListeners(over.signal, 'abort')).toEqual([]);
  await expect(listener.accept(1, 0, over.signal)).rejects.toThrow('enough');
  listener.close();
});

it('the listener reports the address at which it cannot listen', async () => {
  const member = memberOf({ rank: 3, size: 4, jobKey });
  const sockets = new Sockets(untaken);
  // No machine has this address; it is reserved for documentation.
  await expect(
    Listener.listen({ member, host: '192.0.2.1', secret: Buffer.alloc(secretBytes), sockets }),
  ).rejects.toMatchObject({
    ...{ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER', rank: 3, operation: 'open a group' },
    message: expect.stringMatching(/^rank 3 cannot listen at 192.0.2.1: .*EADDRNOTAVAIL.*; set host to an address/),
    cause: expect.objectContaining({ code: 'EADDRNOTAVAIL' }),
  });
});

it('the listener waits for a new connection after forget() of the old one', async () => {
  const [member, other] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [MemberConfig, MemberConfig];
  const secret = Buffer.alloc(secretBytes);
  const sockets = new Sockets(untaken);
  const listener = await Listener.listen({ member, host: '127.0.0.1', secret, sockets });
  const { signal } = new AbortController();
  const dialed = () =>
    connect({ member: other, rank: 0, addresses: [listener.address], channel: 0, signal, secret, sockets });
  await dialed();
  const first = await listener.accept(1, 0, signal);
  expect(await listener.accept(1, 0, signal)).toBe(first);
  const [before] = [first.socket];
  listener.forget(first);
  const again = listener.accept(1, 0, signal);
  await dialed();
  expect(await again).not.toBe(first);
  expect(first.socket).toBe(before);
  listener.close();
});

it('the listener closes a connection that a newer one replaces', async () => {
  const [member, other] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [MemberConfig, MemberConfig];
  const secret = Buffer.alloc(secretBytes);
  let next = 1000;
  const closeSocket = vi.fn();
  const sockets = new Sockets({ takeSocket: () => next++, closeSocket } as unknown as ProcessBinding);
  const listener = await Listener.listen({ member, host: '127.0.0.1', secret, sockets });
  const { signal } = new AbortController();
  const common = { member: other, rank: 0, addresses: [listener.address], channel: 0, signal, secret };
  const dialed = () => connect({ ...common, sockets: new Sockets(untaken) });
  await dialed();
  const connection = await listener.accept(1, 0, signal);
  await dialed();
  await expect.poll(() => connection.socket).toBe(1001);
  expect(closeSocket.mock.calls).toEqual([[1000]]);
  listener.close();
});

it('the listener closes a connection without a proof of membership after 10 seconds', async () => {
  const [member, other] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [MemberConfig, MemberConfig];
  const secret = Buffer.alloc(secretBytes);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const listener = await Listener.listen({ member, host: '127.0.0.1', secret, sockets: new Sockets(untaken) });
  const hello = encodeHello(other, 0, 0);
  const strangers = [Buffer.of(), hello.subarray(0, -1), hello, hello].map((said) => {
    const socket = dial(listener.address);
    socket.write(said);
    return socket;
  });
  const closed = Promise.all(strangers.map((socket) => once(socket, 'close')));
  const [, , unproven, halfProven] = strangers;
  // Once these two have an answer, the listener has handled all four, because it handles
  // connections in order.
  const [[challenge]] = await Promise.all([once(halfProven as Socket, 'data'), once(unproven as Socket, 'data')]);
  const proof = encodeProof(other.key, [hello, challenge], secret);
  halfProven?.write(proof.subarray(0, lengths.proof - 1));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(vi.getTimerCount()).toBe(strangers.length);
  await vi.advanceTimersByTimeAsync(1);
  await closed;
  expect(vi.getTimerCount()).toBe(0);
  listener.close();
});

describe('a listener with unauthenticated connections', () => {
  const [member, other] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [MemberConfig, MemberConfig];
  const secret = Buffer.alloc(secretBytes);
  // The largest number of unauthenticated connections in a group of two: 64 + 3 * 2.
  const most = 70;
  let listener: Listener;
  let sockets: Sockets;
  const dialed: Socket[] = [];

  beforeEach(async () => {
    sockets = new Sockets(untaken);
    listener = await Listener.listen({ member, host: '127.0.0.1', secret, sockets });
  });

  afterEach(() => {
    for (const socket of dialed.splice(0)) socket.destroy();
    listener.close();
  });

  async function dialOne(): Promise<Socket> {
    const socket = dial(listener.address);
    dialed.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  /** Sends a hello and a proof. Returns the listener's last answer. */
  async function prove(proofOf: (challenge: Buffer) => Buffer): Promise<Buffer> {
    const socket = await dialOne();
    socket.write(encodeHello(other, 0, 0));
    const [challenge] = (await once(socket, 'data')) as [Buffer];
    socket.write(proofOf(challenge));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer;
  }

  it('closes the oldest connection if there are too many', async () => {
    const oldest = await dialOne();
    const ended = once(oldest, 'close');
    const others: Socket[] = [];
    for (let count = 1; count <= most; count++) others.push(await dialOne());
    await ended;
    expect(others.filter((socket) => socket.destroyed)).toEqual([]);
  });

  it('counts only connections that are still open', async () => {
    const slow = await dialOne();
    for (let count = 0; count <= most; count++) {
      const socket = await dialOne();
      const closed = once(socket, 'close');
      socket.end();
      await closed;
    }
    expect(slow.destroyed).toBe(false);
  });

  it('tells a client with another job key that its key is wrong', async () => {
    const answer = await prove(() => Buffer.alloc(lengths.proof, 1));
    expect(decodeRefusal(answer)).toEqual({ why: 'key', detail: 0 });
  });

  it('closes a connection that it cannot take over', async () => {
    sockets.close();
    let isClosed = false;
    const socket = await dialOne();
    socket.on('close', () => {
      isClosed = true;
    });
    const hello = encodeHello(other, 0, 0);
    socket.write(hello);
    const [challenge] = (await once(socket, 'data')) as [Buffer];
    socket.write(encodeProof(other.key, [hello, challenge], secret));
    await expect.poll(() => isClosed, { timeout: 5_000 }).toBe(true);
  });
});
