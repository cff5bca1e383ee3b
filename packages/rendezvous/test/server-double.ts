import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A server, or its double, that goes away and comes back at the same address. */
export interface Restartable {
  readonly url: string;
  stop(): Promise<void>;
  /** What it kept is gone. Only while it is stopped. */
  forget(): Promise<void>;
  start(): Promise<void>;
  /** Ends it for good. */
  close(): Promise<void>;
}

/** What the doubles of servers have in common. */
export abstract class ServerDouble implements Restartable {
  readonly #protocol: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;

  protected constructor(protocol: string, server: Server) {
    this.#protocol = protocol;
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  get url(): string {
    return `${this.#protocol}://127.0.0.1:${this.#port}`;
  }

  abstract forget(): Promise<void>;

  async start(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  close(): Promise<void> {
    return this.stop();
  }
}
