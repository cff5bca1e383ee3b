import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EtcdStore, FileStore, MemoryStore, RedisStore, type Store, TcpStore, TcpStoreServer } from '../src/index.js';
import { EtcdDouble } from './etcd-double.js';
import { installed, startEtcd, startRedis } from './real-servers.js';
import { RedisDouble } from './redis-double.js';

/** A table, which any number of members open. */
export interface SharedTable {
  open(): Promise<Store>;
  close(): Promise<void>;
}

let jobs = 0;

/** Every kind of store, each time with an empty table. Servers that are installed here are used beside their doubles. */
export const tables: Readonly<Record<string, () => Promise<SharedTable>>> = {
  MemoryStore: async () => {
    const first = new MemoryStore();
    return { open: async () => new MemoryStore(first), close: () => first.close() };
  },
  FileStore: async () => {
    const folder = path.join(await mkdtemp(path.join(tmpdir(), 'coll-')), 'job');
    return { open: async () => new FileStore({ folder }), close: () => new FileStore({ folder }).remove() };
  },
  TcpStore: async () => {
    const jobKey = TcpStoreServer.newKey();
    const server = await TcpStoreServer.listen({ job: 'test', jobKey });
    return {
      open: () => TcpStore.connect({ address: server.address, job: 'test', jobKey }),
      close: () => server.close(),
    };
  },
  'RedisStore on a double': async () => redisTable(await RedisDouble.listen()),
  'EtcdStore on a double': async () => etcdTable(await EtcdDouble.listen()),
  ...(installed('redis-server') ? { 'RedisStore on Redis': async () => redisTable(await startRedis()) } : {}),
  ...(installed('etcd') ? { 'EtcdStore on etcd': async () => etcdTable(await startEtcd()) } : {}),
};

interface Served {
  readonly url: string;
  close(): Promise<void>;
}

function redisTable(server: Served): SharedTable {
  const job = `test ${jobs++}`;
  return { open: () => RedisStore.connect({ redis: server.url, job }), close: () => server.close() };
}

function etcdTable(server: Served): SharedTable {
  const job = `test ${jobs++}`;
  return { open: async () => new EtcdStore({ url: server.url, job }), close: () => server.close() };
}
