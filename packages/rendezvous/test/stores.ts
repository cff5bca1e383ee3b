import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EtcdStore, FileStore, MemoryStore, RedisStore, type Store, TcpStore, TcpStoreServer } from '../src/index.js';
import { EtcdDouble } from './etcd-double.js';
import { installed, startEtcd, startRedis } from './real-servers.js';
import { RedisDouble } from './redis-double.js';

/** Where a table is, as another process can be told. */
export type Place =
  | { readonly kind: 'file'; readonly folder: string }
  | { readonly kind: 'tcp'; readonly address: string; readonly job: string; readonly jobKey: string }
  | { readonly kind: 'redis' | 'etcd'; readonly url: string; readonly job: string };

/** A table, which any number of members open. */
export interface SharedTable {
  /** Undefined for one that is in the memory of this process. */
  readonly place?: Place;
  open(): Promise<Store>;
  close(): Promise<void>;
}

/** The store of a table that other processes have, too. */
export async function storeAt(place: Place): Promise<Store> {
  switch (place.kind) {
    case 'file':
      return new FileStore(place);
    case 'tcp':
      return TcpStore.connect(place);
    case 'redis':
      return RedisStore.connect({ redis: place.url, job: place.job });
    case 'etcd':
      return new EtcdStore(place);
  }
}

let jobs = 0;

/** Every kind of store, each time with an empty table. Servers that are installed here are used beside their doubles. */
export const tables: Readonly<Record<string, () => Promise<SharedTable>>> = {
  MemoryStore: async () => {
    const first = new MemoryStore();
    return { open: async () => new MemoryStore(first), close: () => first.close() };
  },
  FileStore: async () => {
    const above = await mkdtemp(path.join(tmpdir(), 'coll-'));
    const folder = path.join(above, 'job');
    return tableAt({ kind: 'file', folder }, async () => {
      await new FileStore({ folder }).remove();
      await rmdir(above);
    });
  },
  TcpStore: async () => {
    const jobKey = TcpStoreServer.newKey();
    const server = await TcpStoreServer.listen({ job: 'test', jobKey });
    return tableAt({ kind: 'tcp', address: server.address, job: 'test', jobKey }, () => server.close());
  },
  'RedisStore on a double': async () => servedTable('redis', await RedisDouble.listen()),
  'EtcdStore on a double': async () => servedTable('etcd', await EtcdDouble.listen()),
  ...(installed('redis-server') ? { 'RedisStore on Redis': async () => servedTable('redis', await startRedis()) } : {}),
  ...(installed('etcd') ? { 'EtcdStore on etcd': async () => servedTable('etcd', await startEtcd()) } : {}),
};

interface Served {
  readonly url: string;
  close(): Promise<void>;
}

function servedTable(kind: 'redis' | 'etcd', server: Served): SharedTable {
  return tableAt({ kind, url: server.url, job: `test ${jobs++}` }, () => server.close());
}

function tableAt(place: Place, close: () => Promise<void>): SharedTable {
  return { place, open: () => storeAt(place), close };
}
