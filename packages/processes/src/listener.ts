import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { RuntimeError } from '@coll/core';
import { HandshakeStream } from './handshake-stream.js';
import {
  decodeHello,
  encodeChallenge,
  encodeRefusal,
  encodeWelcome,
  lengths,
  refusalOf,
  secretOfProof,
} from './hello.js';
import type { MemberConfig } from './member-config.js';
import type { Address } from './peer-info.js';
import type { SocketSeal } from './sealed-socket.js';
import { sealOf } from './sealing.js';
import type { Sockets } from './sockets.js';

/** A connection with an authenticated member. */
export interface Connection {
  readonly rank: number;
  readonly channel: number;
  /**
   * Descriptor of the connection in `Sockets`; -1 once it was given back to Node.js. A newer
   * connection may replace it until all members have reported that they are connected.
   */
  socket: number;
  /** The peer's secret, known only to members. */
  readonly secret: Buffer;
  /** What seals this connection, if its channel is a sealed one. */
  seal: SocketSeal;
}

export interface ListenerOptions {
  readonly member: MemberConfig;
  readonly host: string;
  /** The secret that this listener sends to authenticated members of other ranks. */
  readonly secret: Buffer;
  readonly sockets: Sockets;
}

// A peer that has not authenticated by then is dropped. Members on a busy machine need some
// seconds.
const helloMillis = 10_000;
const fewestStrangers = 64;
// Connections that a member may open at once: one for each channel.
const connectionsAtOnce = 3;

/**
 * Accepts connections from members of higher rank. Refuses other callers with a reason, and keeps
 * no data about them.
 */
export class Listener {
  readonly address: Address;
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #strangers = new Set<Socket>();
  readonly #accepted = new Map<string, Connection>();
  /** Functions that wake the calls of `accept` that wait for a connection, by rank and channel. */
  readonly #waiting = new Map<string, () => void>();

  private constructor(server: Server, options: ListenerOptions) {
    this.#server = server;
    this.#options = options;
    this.address = { host: options.host, port: (server.address() as AddressInfo).port };
    server.on('connection', (socket) => this.#meet(socket));
    server.on('error', () => {});
  }

  /**
   * Starts to listen at a free port.
   * @throws RuntimeError (ERR_COLL_CLUSTER) if this process cannot listen at the address
   */
  static async listen(options: ListenerOptions): Promise<Listener> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        const { rank } = options.member;
        const message = `rank ${rank} cannot listen at ${options.host}: ${cause.message}; set host to an address or interface of this machine`;
        reject(new RuntimeError('ERR_COLL_CLUSTER', message, { cause, operation: 'open a group', rank }));
      });
      // Workers of node:cluster would otherwise share one port.
      server.listen({ host: options.host, port: 0, backlog: 511, exclusive: true }, resolve);
    });
    return new Listener(server, options);
  }

  /**
   * Waits for a connection from a rank on a channel; each pair of rank and channel may have one
   * waiting caller.
   * @throws the signal's reason if the signal aborts
   */
  async accept(rank: number, channel: number, signal: AbortSignal): Promise<Connection> {
    const key = keyOf(rank, channel);
    for (;;) {
      const found = this.#accepted.get(key);
      if (found) return found;
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        const done = () => {
          signal.removeEventListener('abort', done);
          this.#waiting.delete(key);
          resolve();
        };
        this.#waiting.set(key, done);
        signal.addEventListener('abort', done);
      });
    }
  }

  /**
   * Forgets an accepted connection, so that `accept` waits for a new one of the same rank and
   * channel.
   */
  forget({ rank, channel }: Connection): void {
    this.#accepted.delete(keyOf(rank, channel));
  }

  /** Keeps the process alive while it listens. */
  ref(): void {
    this.#server.ref();
  }

  /** Lets the process exit while it listens. */
  unref(): void {
    this.#server.unref();
  }

  /** Stops listening and closes unauthenticated connections. */
  close(): void {
    this.#server.close();
    for (const socket of this.#strangers) socket.destroy();
  }

  #meet(socket: Socket): void {
    // Members authenticate quickly, so the oldest connections are strangers.
    const [oldest] = this.#strangers;
    const most = fewestStrangers + connectionsAtOnce * this.#options.member.size;
    if (oldest && this.#strangers.size >= most) oldest.destroy();
    this.#strangers.add(socket);
    socket.once('close', () => this.#strangers.delete(socket));
    const stream = new HandshakeStream(socket, [lengths.hello, lengths.proof], helloMillis);
    this.#talk(stream).catch(() => stream.drop());
  }

  async #talk(stream: HandshakeStream): Promise<void> {
    const { member, secret, sockets } = this.#options;
    const first = await stream.next();
    const hello = decodeHello(first);
    if (!hello) return stream.drop();
    const refused = refusalOf(hello, member);
    if (refused) return stream.endWith(encodeRefusal(refused));
    const challenge = encodeChallenge();
    await stream.send(challenge);
    const proof = await stream.next();
    const shared = secretOfProof(member.key, [first, challenge], proof);
    if (!shared) return stream.endWith(encodeRefusal({ why: 'key', detail: 0 }));
    // Before the welcome, after which the member would not connect again if this failed.
    const socket = stream.handOver((descriptor) => sockets.take(descriptor));
    const welcome = encodeWelcome(member.key, [first, challenge, proof], secret);
    try {
      await stream.send(welcome);
    } catch (error) {
      sockets.discard(socket);
      throw error;
    }
    stream.drop();
    const seal = sealOf(member.key, [first, challenge, proof, welcome]);
    this.#add({ rank: hello.from, channel: hello.channel, socket, secret: shared, seal });
  }

  #add(connection: Connection): void {
    const key = keyOf(connection.rank, connection.channel);
    const known = this.#accepted.get(key);
    if (known) {
      // A member that was too slow to read the welcome has reconnected.
      this.#options.sockets.discard(known.socket);
      known.socket = connection.socket;
      known.seal = connection.seal;
    } else {
      this.#accepted.set(key, connection);
    }
    this.#waiting.get(key)?.();
  }
}

function keyOf(rank: number, channel: number): string {
  return `${rank}/${channel}`;
}
