export { EtcdStore, type EtcdStoreOptions } from './etcd-store.js';
export { FileStore, type FileStoreOptions } from './file-store.js';
export { type MeetOptions, meet } from './meet.js';
export { MemoryStore } from './memory-store.js';
export { type RedisClient, RedisStore, type RedisStoreOptions } from './redis-store.js';
export type { Store, WaitOptions } from './store.js';
export type { TableLimits } from './table.js';
export { TcpStore, type TcpStoreOptions } from './tcp-store.js';
export { TcpStoreServer, type TcpStoreServerOptions } from './tcp-store-server.js';
