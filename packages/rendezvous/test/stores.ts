import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EtcdStore, FileStore, MemoryStore, RedisStore, type Store, TcpStore, TcpStoreServer } from '../src/index.js';
import { EtcdDouble } from './etcd-double.js';
import { installed, startEtcd, startRedis } from './real-servers.js';
import { RedisDouble } from './redis-double.js';
import type { Restartable } from './server-double.js';

/** The address of a table, in a form that can be sent to another process. */
export type StoreConfig =
  | { readonly kind: 'file'; readonly folder: string }
  | { readonly kind: 'tcp'; readonly address: string; readonly job: string; readonly jobKey: string }
  | { readonly kind: 'redis' | 'etcd'; readonly url: string; readonly job: string; readonly outageSeconds?: number };

/** A table, which any number of members open. */
export interface SharedTable {
  /** Undefined for one that is in the memory of this process. */
  readonly place?: StoreConfig;
  open(): Promise<Store>;
  close(): Promise<void>;
}

/** The store of a table that other processes have, too. */
export async function storeAt(place: StoreConfig): Promise<Store> {
  switch (place.kind) {
    case 'file':
      return new FileStore({ folder: place.folder });
    case 'tcp': {
      const { kind: _, ...options } = place;
      return TcpStore.connect(options);
    }
    case 'redis': {
      const { kind: _, url, ...options } = place;
      return RedisStore.connect({ ...options, redis: url });
    }
    case 'etcd': {
      const { kind: _, ...options } = place;
      return new EtcdStore(options);
    }
  }
}

interface Server {
  readonly kind: 'redis' | 'etcd';
  readonly listen: () => Promise<Restartable>;
}

/** The servers of others. Those that are installed here are used beside their doubles. */
export const servers: Readonly<Record<string, Server>> = {
  'RedisStore on a double': { kind: 'redis', listen: () => RedisDouble.listen() },
  'EtcdStore on a double': { kind: 'etcd', listen: () => EtcdDouble.listen() },
  ...(installed('redis-server') ? { 'RedisStore on Redis': { kind: 'redis', listen: startRedis } } : {}),
  ...(installed('etcd') ? { 'EtcdStore on etcd': { kind: 'etcd', listen: startEtcd } } : {}),
};

let jobs = 0;

/** A part of a server that nobody has used before. */
export function placeIn(kind: Server['kind'], { url }: Restartable, outageSeconds = 10): StoreConfig {
  return { kind, url, job: `test ${jobs++}`, outageSeconds };
}

/** Every kind of store, each time with an empty table. */
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
  ...Object.fromEntries(
    Object.entries(servers).map(([name, { kind, listen }]) => [
      name,
      async () => {
        const server = await listen();
        return tableAt(placeIn(kind, server), () => server.close());
      },
    ]),
  ),
};

function tableAt(place: StoreConfig, close: () => Promise<void>): SharedTable {
  return { place, open: () => storeAt(place), close };
}
