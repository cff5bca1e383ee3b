import { expect, it } from 'vitest';
import { EtcdStore, FileStore, joinGroup, MemoryStore, RedisStore, TcpStore, TcpStoreServer } from '../src/index.js';

const job = 'misuse';
const jobKey = TcpStoreServer.newKey();
const address = 'tcp://127.0.0.1:9';
const card = Buffer.of();
const listen = (more: object) => TcpStoreServer.listen({ job, jobKey, ...more });
const connect = (more: object) => TcpStore.connect({ address, job, jobKey, ...more });
const redis = (more: object) => RedisStore.connect({ redis: 'redis://127.0.0.1:9', job, ...more });
const come = (more: object) => joinGroup(new MemoryStore(), { rank: 0, size: 2, card, ...more });

it.each<[string, () => unknown]>([
  // The empty name would be all addresses, and a text a socket in the file system.
  ['an empty host', () => listen({ host: '' })],
  ['a host of null', () => listen({ host: null })],
  ['a port that is text', () => listen({ port: 'x' })],
  ['port 65536', () => listen({ port: 2 ** 16 })],
  ['helloSeconds of NaN', () => listen({ helloSeconds: Number.NaN })],
  ['helloSeconds of 0', () => listen({ helloSeconds: 0 })],
  ['helloSeconds that is text', () => listen({ helloSeconds: '5' })],
  ['a server without options', () => TcpStoreServer.listen(undefined as never)],
  ['a connection without options', () => TcpStore.connect(undefined as never)],
  ['an address that is a symbol', () => connect({ address: Symbol('a') })],
  ['an object that is not a signal', () => connect({ signal: {} })],
  ['a timeout of NaN', () => connect({ timeoutSeconds: Number.NaN })],
  ['wait options that are not an object', () => new MemoryStore().get('a', null as never)],
  ['joinGroup without options', () => joinGroup(new MemoryStore(), undefined as never)],
  ['joinGroup without a store', () => joinGroup({} as never, { rank: 0, size: 1, card })],
  ['joinGroup with a timeout that is text', () => come({ timeoutSeconds: '5' })],
  ['data that is text', () => come({ card: 'me' })],
  ['a path instead of a Redis URL', () => redis({ redis: 'x' })],
  ['a RedisStore without options', () => RedisStore.connect(undefined as never)],
  ['values that expire at once', () => redis({ expireSeconds: 0 })],
  ['an EtcdStore without options', async () => new EtcdStore(undefined as never)],
  ['a folder without a name', async () => new FileStore({ folder: '' })],
  ['a folder that is a number', async () => new FileStore({ folder: 7 as never })],
  ['a FileStore without options', async () => new FileStore(undefined as never)],
  ['an etcd URL that is a path', async () => new EtcdStore({ url: 'x', job })],
])('stores refuse %s with a ValueError', async (_, ask) => {
  await expect(ask()).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
});

it.each<[string, () => unknown]>([
  ['a Redis', () => redis({ redis: 'reds://user:secret@host:6379' })],
  ['a Redis without a scheme', () => redis({ redis: 'user:sec@ret@host:6379' })],
  ['an etcd', async () => new EtcdStore({ url: 'http://user:secret@host:2379', job })],
  ['an invalid etcd URL', async () => new EtcdStore({ url: 'htp://:secret@host:2379', job })],
])('stores do not print the password of %s', async (_, ask) => {
  const error: unknown = await Promise.resolve(ask()).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'ValueError', message: expect.stringContaining('***@host') });
  expect(String(error)).not.toMatch(/sec|ret@/);
});

it('EtcdStore says where to pass credentials if its URL contains them', () => {
  const make = (url: string) => () => new EtcdStore({ url, job });
  expect(make('http://user:secret@host:2379')).toThrow(
    /@host:2379"; pass the credentials .*, with the option headers$/,
  );
  expect(make('x')).toThrow(/ must be http:\/\/host:port, got "x"$/);
});

it('FileStore fails if its folder cannot be created', async () => {
  // The recursive mkdir of Node tries again for ever there.
  await using store = new FileStore({ folder: '/proc/none/job' });
  await expect(store.set('a', card)).rejects.toMatchObject({ code: 'ERR_COLL_STORE', operation: 'set' });
});
