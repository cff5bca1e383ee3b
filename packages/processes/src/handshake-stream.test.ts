import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HandshakeStream } from './handshake-stream.js';

let server: Server;
let own: Socket;
let other: Socket;
let closed: Promise<void>;

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  other = connect((server.address() as AddressInfo).port, '127.0.0.1');
  other.on('error', () => {});
  [own] = (await once(server, 'connection')) as [Socket];
  closed = new Promise((resolve) => own.once('close', () => resolve()));
});

afterEach(() => {
  vi.useRealTimers();
  own.destroy();
  other.destroy();
  server.close();
});

const talk = (lengths: readonly number[]) => new HandshakeStream(own, lengths, 10_000);

describe('the next message of a handshake', () => {
  it('is read to its full length, however its bytes arrive', async () => {
    const stream = talk([3, 2]);
    other.setNoDelay(true);
    const first = stream.next();
    other.write(Buffer.of(1, 2));
    await once(own, 'data');
    other.write(Buffer.of(3, 4));
    expect(await first).toEqual(Buffer.of(1, 2, 3));
    const second = stream.next();
    other.write(Buffer.of(5));
    expect(await second).toEqual(Buffer.of(4, 5));
  });

  it.each(['readStop', 'pause'])(
    'stops reading after the last message, by the method %s of the handle',
    async (method) => {
      const handle = { [method]: vi.fn() };
      Object.defineProperty(own, '_handle', { value: handle });
      const stream = talk([2]);
      own.emit('data', Buffer.of(1, 2));
      await stream.next();
      expect(handle[method]).toHaveBeenCalledOnce();
    },
  );

  it('can be read after the connection has ended if it arrived before the end', async () => {
    const stream = talk([2]);
    other.end(Buffer.of(1, 2));
    own.end();
    await closed;
    expect(await stream.next()).toEqual(Buffer.of(1, 2));
    expect(() => stream.handOver((descriptor) => descriptor)).toThrow(
      expect.objectContaining({
        ...{ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED' },
        message: 'a connection closed before the group could use it',
        cause: expect.objectContaining({ message: 'the other process closed the connection during the handshake' }),
      }),
    );
  });

  it('fails if the other side ends within the message', async () => {
    const next = talk([2]).next();
    other.end(Buffer.of(1));
    await once(own, 'end');
    own.destroy();
    await expect(next).rejects.toThrow('the other process closed the connection during the handshake');
  });

  it('is followed by bytes that are left to the next reader if it is the last message', async () => {
    const stream = talk([2]);
    const next = stream.next();
    other.write(Buffer.of(1, 2));
    await next;
    const heard = vi.fn();
    own.on('data', heard);
    other.write(Buffer.of(3));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(heard).not.toHaveBeenCalled();
  });

  it('fails and ends the connection if the other side has sent more bytes than the handshake has', async () => {
    const stream = talk([1, 1]);
    other.write(Buffer.of(1, 2, 3));
    await closed;
    await expect(stream.next()).rejects.toThrow('the other side sent more bytes than the handshake has');
  });

  it.each([
    [9_999, false],
    [10_000, true],
  ])('times out after 10 seconds (after %i ms: %s)', async (millis, isOver) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const next = talk([1])
      .next()
      .catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(millis);
    expect(own.destroyed).toBe(isOver);
    if (!isOver) other.write(Buffer.of(1));
    expect(await next).toEqual(isOver ? 'the other side did not identify itself in time' : Buffer.of(1));
    own.destroy();
    await closed;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a sent message', () => {
  it('arrives at the other side', async () => {
    const heard = once(other, 'data');
    await talk([]).send(Buffer.of(7, 8));
    expect(await heard).toEqual([Buffer.of(7, 8)]);
  });

  it('fails with the error that ended the connection', async () => {
    const stream = talk([1]);
    const reason = new Error('it broke');
    own.destroy(reason);
    await expect(stream.send(Buffer.of(1))).rejects.toBe(reason);
  });

  it('arrives even if its sender closes the connection right after it', async () => {
    const heard = once(other, 'data');
    const ended = once(other, 'end');
    talk([1]).endWith(Buffer.of(9));
    expect(await heard).toEqual([Buffer.of(9)]);
    await ended;
    await closed;
    expect(own.destroyed).toBe(true);
  });
});

it('a handshake stream passes its file descriptor to the given function, and then destroys its own socket', async () => {
  const taken: number[] = [];
  const stream = talk([]);
  const handed = stream.handOver((descriptor) => taken.push(descriptor) + 41);
  expect([handed, own.destroyed]).toEqual([42, false]);
  expect(taken[0]).toBeGreaterThan(2);
  stream.drop();
  expect(own.destroyed).toBe(true);
  await once(other, 'close');
});
