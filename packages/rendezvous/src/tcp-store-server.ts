import type { AddressInfo, Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { CollError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { logFirst } from '@coll/core/plugin';
import { newJobKey, requireJob, requireJobKey } from './job-key.js';
import { createSecureServer, requirePreSharedKeys } from './secure-connection.js';
import { requireKey, requireValue } from './store.js';
import { StoreConnection } from './store-connection.js';
import { Table, type TableLimits } from './table.js';
import { UnauthenticatedConnections } from './unauthenticated-connections.js';

/** The address to listen on, and the job whose members may connect. */
export interface TcpStoreServerOptions extends TableLimits {
  /** The name of the job. Members of other jobs are refused; the error names the reason. */
  readonly job: string;
  /** The secret shared by all members of the job, as `TcpStoreServer.newKey()` or `coll key` makes it. */
  readonly jobKey: string;
  /** The address to listen on. Default: `127.0.0.1`, which other hosts cannot reach. */
  readonly host?: string;
  /** The port to listen on. Default: 0, which means any free port. */
  readonly port?: number;
  /** Seconds after which an unauthenticated connection is dropped. Default: 5. */
  readonly helloSeconds?: number;
}

const tcpStoreServerOptions = knownOptions<TcpStoreServerOptions>('TcpStoreServer', {
  job: true,
  jobKey: true,
  host: true,
  port: true,
  helloSeconds: true,
  mostKeys: true,
  mostBytes: true,
});

const mostHelloSeconds = 3600;
const mostConnections = 16_384;

/**
 * Hosts the table of a job. Members connect to it with `TcpStore`.
 *
 * @example
 * ```ts
 * import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
 *
 * const job = { job: 'train', jobKey: TcpStoreServer.newKey() };
 * await using server = await TcpStoreServer.listen({ ...job, host: '127.0.0.1' });
 * await using store = await TcpStore.connect({ ...job, address: server.address });
 * console.log(await store.add('arrived', 1)); // 1
 * ```
 */
export class TcpStoreServer implements AsyncDisposable {
  /** The address of the server, such as `tcp://127.0.0.1:40123`, to pass to `TcpStore.connect`. */
  readonly address: string;
  readonly #server: Server;
  readonly #sockets: Set<TLSSocket>;
  readonly #strangers: UnauthenticatedConnections;
  readonly #table: Table;

  private constructor(
    server: Server,
    host: string,
    sockets: Set<TLSSocket>,
    strangers: UnauthenticatedConnections,
    table: Table,
  ) {
    const { port } = server.address() as AddressInfo;
    this.address = `tcp://${host.includes(':') ? `[${host}]` : host}:${port}`;
    this.#server = server;
    this.#sockets = sockets;
    this.#strangers = strangers;
    this.#table = table;
  }

  /** Makes a secret for a new job. */
  static newKey(): string {
    return newJobKey();
  }

  /**
   * Starts a server.
   * @throws ValueError for a key that is too short, or an invalid job name, host, port or time;
   * CollError if the server cannot listen at the address; CollError in Bun and Deno, which lack TLS
   * with a pre-shared key
   */
  static async listen(options: TcpStoreServerOptions): Promise<TcpStoreServer> {
    const given = optionsOf(options, "{ job: 'training', jobKey: TcpStoreServer.newKey() }", tcpStoreServerOptions);
    const { job, jobKey, host = '127.0.0.1', port = 0, helloSeconds = 5, ...limits } = given;
    requireJob(job);
    requireAddress(host, port);
    requireTime(helloSeconds);
    requireJobKey(jobKey);
    requirePreSharedKeys('listen');
    const table = new Table(limits);
    const sockets = new Set<TLSSocket>();
    const strangers = new UnauthenticatedConnections();
    const accept = (socket: TLSSocket) => {
      strangers.know(socket);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      new StoreConnection({ socket, job, table, helloSeconds });
    };
    const server = createSecureServer(jobKey, helloSeconds, accept, (socket) => reportOtherKey(job, socket));
    server.maxConnections = mostConnections;
    server.prependListener('connection', (socket) => strangers.add(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        const message = `a store cannot listen at ${host}:${port}: ${cause.message}`;
        reject(new CollError('ERR_COLL_STORE', message, { cause, operation: 'listen' }));
      });
      // Workers of node:cluster would otherwise share one port, and each would have a part of the table.
      server.listen({ port, host, exclusive: true }, resolve);
    });
    // For example, too many open files during a connection; the client retries.
    server.on('error', () => {});
    return new TcpStoreServer(server, host, sockets, strangers, table);
  }

  /**
   * Writes a value from this process. Clients cannot read it before the next turn of the event
   * loop.
   * @throws ValueError for an invalid key or value, CollError if the table is full
   */
  set(key: string, value: Uint8Array): void {
    requireKey(key, 'set');
    requireValue(value, 'set');
    this.#table.set(key, Uint8Array.from(value));
  }

  /** Lets the process end while the server listens. */
  unref(): void {
    this.#server.unref();
  }

  /** Closes the server and drops its table. Members that still use it get an UnavailableError. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    this.#strangers.close();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Warns once per job and host, because a program that waits for its members would not know why. */
function reportOtherKey(job: string, { remoteAddress }: Socket): void {
  const message = `a process at ${remoteAddress} has another job key than the store of job "${job}", and was refused: set the same COLL_JOB_KEY or jobKey on all members`;
  logFirst(1, `job key ${job} ${remoteAddress}`, 'warn', message);
}

function requireAddress(host: unknown, port: unknown): void {
  if (typeof host !== 'string' || host === '')
    throw new ValueError('ERR_COLL_VALUE', `host must be an address or a name to listen at, got ${quote(host)}`);
  if (!(typeof port === 'number' && Number.isInteger(port) && port >= 0 && port < 2 ** 16))
    throw new ValueError('ERR_COLL_VALUE', `port must be a whole number from 0 to 65535, got ${quote(port)}`);
}

function requireTime(helloSeconds: unknown): void {
  if (typeof helloSeconds === 'number' && helloSeconds > 0 && helloSeconds <= mostHelloSeconds) return;
  const message = `helloSeconds must be a number above 0 and at most ${mostHelloSeconds}, got ${quote(helloSeconds)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}
