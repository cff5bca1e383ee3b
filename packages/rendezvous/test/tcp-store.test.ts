import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { AbortedError, CollError, DeadlineExceededError, setLogSink, UnavailableError } from '@coll/core';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { encodeAnswer, encodeRequest, frameVersion, type Op } from '../src/frames.js';
import { TcpStore, TcpStoreServer } from '../src/index.js';
import { connectSecurely, createSecureServer } from '../src/secure-connection.js';
import { mostUnauthenticated } from '../src/unauthenticated-connections.js';
import { freePort } from './free-port.js';

const jobKey = TcpStoreServer.newKey();
const bytes = (text: string) => new Uint8Array(Buffer.from(text));

let server: TcpStoreServer;
beforeEach(async () => {
  server = await TcpStoreServer.listen({ job: 'here', jobKey, helloSeconds: 3 });
});
afterEach(() => server.close());

const open = (more: object = {}) => TcpStore.connect({ address: server.address, job: 'here', jobKey, ...more });
const portOf = ({ address }: TcpStoreServer) => Number(new URL(address).port);

describe('TcpStore', () => {
  it('requires the key of the job', async () => {
    const lines: string[] = [];
    setLogSink((_, message) => lines.push(message));
    onTestFinished(() => setLogSink());
    await expect(open({ jobKey: TcpStoreServer.newKey() })).rejects.toThrow(/has a different job key/);
    await expect(open({ jobKey: TcpStoreServer.newKey() })).rejects.toMatchObject({
      code: 'ERR_COLL_STORE',
      message: `the store at ${server.address} has a different job key, or the program at this address is not a store`,
    });
    // The process that waits for its members hears of it as well, once.
    expect(lines).toEqual([
      'a process at 127.0.0.1 has another job key than the store of job "here", and was refused: set the same COLL_JOB_KEY or jobKey on all members',
    ]);
    for (const short of ['', 'x'.repeat(15), 5 as never])
      await expect(open({ jobKey: short })).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  });

  it('writes the values of a client that is lost, unless it has taken them back or closed', async () => {
    await using store = await open();
    await using closed = await open();
    await closed.setWhenLost('closed', bytes('a'));
    await closed.close();
    const lost = connectSecurely({ host: '127.0.0.1', port: portOf(server) }, jobKey);
    const ask = (op: Op, key: string, value = bytes('')) =>
      lost.write(encodeRequest({ id: 0, op, key, value, expected: undefined }));
    ask('hello', 'here', Buffer.of(frameVersion));
    ask('setWhenLost', 'kept', bytes('b'));
    ask('setWhenLost', 'taken back', bytes('c'));
    ask('forget', 'taken back');
    ask('setWhenLost', 'there', bytes('d'));
    ask('set', 'there', bytes('e'));
    await store.get('there');
    lost.destroy();
    expect(await store.get('kept')).toEqual(bytes('b'));
    expect(await store.get('there')).toEqual(bytes('e'));
    for (const key of ['closed', 'taken back']) expect(await store.compareSet(key, undefined, bytes('f'))).toBe(true);
  });

  it('lets a client leave at most 16 values for its loss', async () => {
    await using store = await open();
    for (let key = 0; key < 16; key++) await store.setWhenLost(`key ${key}`, bytes('a'));
    await store.setWhenLost('key 0', bytes('b'));
    await expect(store.setWhenLost('one more', bytes('a'))).rejects.toMatchObject({ name: 'ValueError' });
  });

  it.each([7, null, 'x'.repeat(513)])('refuses %s as a job name', async (job) => {
    const refused = {
      name: 'ValueError',
      message: expect.stringContaining('job must be a string of at most 512 bytes'),
    };
    await expect(open({ job })).rejects.toMatchObject(refused);
    await expect(TcpStoreServer.listen({ job: job as never, jobKey })).rejects.toMatchObject(refused);
  });

  it('is refused by the server of another job with a message that names both jobs', async () => {
    await expect(open({ job: 'there' })).rejects.toThrow('this store belongs to job "here", not to "there"');
  });

  it('reports at its timeout that the name of its host is unknown', async () => {
    const address = 'tcp://no-such-host.invalid:4000';
    await expect(open({ address, timeoutSeconds: 0.2 })).rejects.toThrow(
      /within 0.2 seconds: getaddrinfo (ENOTFOUND|EAI_AGAIN) no-such-host.invalid|did not answer/,
    );
  });

  it('waits for a server that starts later, up to its timeout', async () => {
    const port = await freePort();
    const address = `tcp://127.0.0.1:${port}`;
    const early = TcpStore.connect({ address, job: 'here', jobKey, timeoutSeconds: 120 });
    await expect(TcpStore.connect({ address, job: 'here', jobKey, timeoutSeconds: 0.2 })).rejects.toThrow(
      DeadlineExceededError,
    );
    await expect(TcpStore.connect({ address, job: 'here', jobKey, signal: AbortSignal.abort() })).rejects.toThrow(
      AbortedError,
    );
    await using _ = await TcpStoreServer.listen({ job: 'here', jobKey, port });
    await (await early).close();
  });

  it.each([
    ['a listener that never answers', () => createServer(() => {})],
    ['a store that is stopped', () => createSecureServer(jobKey, 60, () => {})],
  ])('stops connecting at its timeout or when its signal is aborted, for %s', async (_, make) => {
    const silent = make().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = `tcp://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await expect(open({ address, timeoutSeconds: 0.3 })).rejects.toMatchObject({
      name: DeadlineExceededError.name,
      message: `could not connect to the store at ${address} within 0.3 seconds: the store did not answer`,
    });
    await expect(open({ address, signal: AbortSignal.timeout(100) })).rejects.toThrow(AbortedError);
    silent.close();
  });

  it('accepts a timeout longer than the longest timer of Node', async () => {
    await (await open({ timeoutSeconds: 31 * 86_400 })).close();
  });

  it('rejects all waiting calls when the server is gone', async () => {
    const store = await open();
    const waiting = expect(store.get('never')).rejects.toThrow(UnavailableError);
    await server.close();
    await waiting;
    await expect(store.set('a', bytes('b'))).rejects.toMatchObject({ code: 'ERR_COLL_STORE' });
    await store.close();
  });

  it.each(['127.0.0.1:1', 'http://127.0.0.1:1', 'tcp://127.0.0.1', 'tcp://'])(
    'refuses the address %s',
    async (address) => {
      await expect(open({ address })).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    },
  );

  it('supports IPv6 if available', async () => {
    const there = await TcpStoreServer.listen({ job: 'here', jobKey, host: '::1' }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'ERR_COLL_STORE' });
    });
    if (!there) return;
    expect(there.address).toMatch(/^tcp:\/\/\[::1\]:\d+$/);
    const store = await open({ address: there.address });
    expect(await store.add('a', 1)).toBe(1);
    await store.close();
    await there.close();
  });
});

it('a TcpStore closes although the server does not read what was sent', async () => {
  const deaf = createSecureServer(jobKey, 60, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(encodeAnswer({ id: 0, isRefused: false, value: Buffer.of() }));
      socket.pause();
    });
  });
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const { port } = deaf.address() as AddressInfo;
  const store = await open({ address: `tcp://127.0.0.1:${port}` });
  const writes = Array.from({ length: 30 }, (_, index) => store.set(`${index}`, new Uint8Array(2 ** 20)));
  const lost = Promise.all(writes).catch((error) => error);
  await store.close();
  expect(await lost).toMatchObject({ code: 'ERR_COLL_CLOSED' });
  deaf.close();
});

it('a TcpStore gives up on a server that no longer answers', async () => {
  const deaf = createSecureServer(jobKey, 60, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(encodeAnswer({ id: 0, isRefused: false, value: Buffer.of() })));
  });
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const store = await open({ address: `tcp://127.0.0.1:${(deaf.address() as AddressInfo).port}` });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const refused = expect(store.add('a', 1)).rejects.toMatchObject({
    name: 'UnavailableError',
    code: 'ERR_COLL_STORE',
    operation: 'add',
    message: expect.stringMatching(/has not answered for 10 seconds/),
  });
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  await refused;
  await store.close();
  deaf.close();
});

describe('TcpStoreServer', () => {
  it('sends large amounts of requested data once the client reads', async () => {
    await using store = await open();
    await using other = await open();
    const value = new Uint8Array(2 ** 20).fill(7);
    const keys = Array.from({ length: 40 }, (_, index) => `key ${index}`);
    const waiting = keys.map((key) => store.get(key));
    for (const key of keys) await other.set(key, value);
    for (const values of [await Promise.all(waiting), await Promise.all(keys.map((key) => store.get(key)))])
      expect(values.every((each) => Buffer.compare(each, value) === 0)).toBe(true);
  });

  it('refuses values beyond its memory limit', async () => {
    await using small = await TcpStoreServer.listen({ job: 'here', jobKey, mostKeys: 2, mostBytes: 100 });
    await using store = await open({ address: small.address });
    await store.set('a', new Uint8Array(60));
    await expect(store.set('b', new Uint8Array(60))).rejects.toThrow('there is no room for "b"');
    await store.set('a', new Uint8Array(10));
    await store.set('b', new Uint8Array(60));
    await expect(store.set('c', new Uint8Array())).rejects.toThrow(CollError);
    await store.delete('a');
    await store.set('c', new Uint8Array());
  });

  it('reports an address at which it cannot listen', async () => {
    const taken = TcpStoreServer.listen({ job: 'here', jobKey, port: portOf(server) });
    await expect(taken).rejects.toMatchObject({ code: 'ERR_COLL_STORE', operation: 'listen' });
  });

  it('is not disturbed by unauthenticated connections', async () => {
    await using store = await open();
    const waiting = store.get('later', { timeoutSeconds: 120 });
    const noise = [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(100_000, 0xff),
      Buffer.of(22, 3, 1, 0, 200, 1),
      Buffer.of(),
    ];
    await Promise.all(noise.map((part) => speak(connect(portOf(server), '127.0.0.1'), part)));
    await store.set('later', bytes('still here'));
    expect(await waiting).toEqual(bytes('still here'));
  });

  it('closes connections without a proof of the job key before TLS starts', async () => {
    const stranger = connect(portOf(server), '127.0.0.1');
    const read = vi.fn();
    stranger.on('data', read).on('error', () => {});
    // The head of a TLS record, which a TLS server would wait for or answer.
    stranger.write(Buffer.concat([Buffer.of(22, 3, 1, 2, 0), Buffer.alloc(40)]));
    await once(stranger, 'close');
    expect(read).not.toHaveBeenCalled();
  });

  it('closes connections without a handshake within helloSeconds, and keeps its members', {
    // Node's own limit ends a TLS handshake after 120 seconds.
    timeout: 60_000,
  }, async () => {
    await using hasty = await TcpStoreServer.listen({ job: 'here', jobKey, helloSeconds: 0.5 });
    await using member = await open({ address: hasty.address });
    const place = { host: '127.0.0.1', port: portOf(hasty) };
    const secured = () => connectSecurely(place, jobKey);
    const hello = encodeRequest({ id: 0, op: 'hello', key: 'here', value: Buffer.of(1), expected: undefined });
    await Promise.all([
      speak(connect(place)),
      speak(connect(place), Buffer.alloc(31)),
      // The head of a TLS record without the record.
      speak(connect(place), Buffer.of(22, 3, 1, 2, 0)),
      speak(secured()),
      speak(secured(), hello.subarray(0, -1)),
    ]);
    expect(await member.add('calls', 1)).toBe(1);
  });

  it('limits unauthenticated connections, and still accepts members', async () => {
    await using patient = await TcpStoreServer.listen({ job: 'here', jobKey, helloSeconds: 3600 });
    const member = await open({ address: patient.address });
    const strangers = Array.from({ length: 2 * mostUnauthenticated }, () => connect(portOf(patient), '127.0.0.1'));
    let ended = 0;
    await new Promise<void>((resolve) => {
      for (const stranger of strangers) {
        stranger.on('error', () => {});
        stranger.once('close', () => ++ended === mostUnauthenticated && resolve());
      }
    });
    const late = await open({ address: patient.address });
    expect(await late.add('calls', 1)).toBe(1);
    expect(await member.add('calls', 1)).toBe(2);
    await Promise.all([late.close(), member.close()]);
    for (const stranger of strangers) stranger.destroy();
  });

  it('closes at once despite silent unauthenticated connections', async () => {
    const patient = await TcpStoreServer.listen({ job: 'here', jobKey, helloSeconds: 3600 });
    const strangers = [1, 2].map(() => connect(portOf(patient), '127.0.0.1').on('error', () => {}));
    // They have come before this one.
    const member = await open({ address: patient.address });
    const ended = Promise.all(strangers.map((stranger) => once(stranger, 'close')));
    await patient.close();
    await ended;
    await member.close();
  });

  it('lets its process exit despite silent unauthenticated connections', async () => {
    const keeper = fork(fileURLToPath(new URL('./fixtures/unreferenced-store.ts', import.meta.url)), [jobKey], {
      execArgv: [],
    });
    const [address] = (await once(keeper, 'message')) as [string];
    const stranger = connect(Number(new URL(address).port), '127.0.0.1').on('error', () => {});
    await (await open({ address })).close();
    keeper.send('end');
    expect(await once(keeper, 'exit')).toEqual([0, null]);
    stranger.destroy();
  });

  it('accepts all members that connect at the same time', async () => {
    const indices = Array.from({ length: 2 * mostUnauthenticated });
    const members = await Promise.all(indices.map(() => open({ timeoutSeconds: 120 })));
    await Promise.all(members.map((member) => member.add('members', 1)));
    expect(await members[0]?.add('members', 0)).toBe(indices.length);
    await Promise.all(members.map((member) => member.close()));
  });

  it('closes connections that send invalid messages, and keeps all others', async () => {
    await using store = await open();
    const hello = encodeRequest({ id: 0, op: 'hello', key: 'here', value: Buffer.of(1), expected: undefined });
    const tooLong = Buffer.alloc(4);
    tooLong.writeUInt32BE(2 ** 31);
    const parts = [
      tooLong,
      Buffer.concat([hello, tooLong]),
      Buffer.concat([hello, Buffer.of(0, 0, 0, 1, 9)]),
      encodeRequest({ id: 0, op: 'get', key: 'a', value: Buffer.of(), expected: undefined }),
    ];
    for (const part of parts) {
      const socket = connectSecurely({ host: '127.0.0.1', port: portOf(server) }, jobKey);
      await new Promise((resolve) => socket.once('secureConnect', resolve));
      await speak(socket, part);
    }
    expect(await store.add('calls', 1)).toBe(1);
  });
});

/** Says something, or nothing at all, and waits until the other side hangs up. */
function speak(socket: ReturnType<typeof connect>, part?: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('data', () => {});
    socket.once('close', () => resolve());
    if (part?.length === 0) socket.end();
    else if (part) socket.write(part);
  });
}
