import { Socket } from 'node:net';
import type { Descriptors } from './descriptors.js';
import type { ProcessBinding } from './process-binding.js';

/** Sockets that Node.js does not own, until a group owns them. */
export class Sockets {
  readonly #binding: ProcessBinding;
  readonly #descriptors: Descriptors | undefined;
  readonly #taken = new Set<number>();
  #isClosed = false;

  constructor(binding: ProcessBinding, descriptors?: Descriptors) {
    this.#binding = binding;
    this.#descriptors = descriptors;
  }

  /** Takes over a descriptor from Node.js. @throws Error after `close` */
  take(descriptor: number): number {
    if (this.#isClosed) throw new Error('the listener was closed and accepts no more connections');
    const socket = this.#duplicate(descriptor);
    this.#taken.add(socket);
    return socket;
  }

  #duplicate(descriptor: number): number {
    try {
      const socket = this.#binding.takeSocket(descriptor);
      this.#descriptors?.opened();
      return socket;
    } catch (error) {
      this.#descriptors?.missed();
      throw error;
    }
  }

  /** Listens at a free port. Returns the socket and the port. @throws Error if that fails, or after `close` */
  listen(host: string): readonly [socket: number, port: number] {
    if (this.#isClosed) throw new Error('the member is closed');
    const [socket, port] = this.#binding.listenForData(host);
    this.#taken.add(socket);
    return [socket, port];
  }

  /** Closes a connection that no group will own. */
  discard(socket: number): void {
    if (this.#taken.delete(socket)) this.#binding.closeSocket(socket);
  }

  /** Turns a taken descriptor into a Node.js socket again. */
  giveBack(socket: number): Socket {
    this.#taken.delete(socket);
    return new Socket({ fd: socket, readable: true, writable: true });
  }

  /** Hands a socket over to the caller, who must close it from then on. */
  handOver(socket: number): number {
    this.#taken.delete(socket);
    return socket;
  }

  /** Closes the connections that were not handed over; later calls of `take` throw. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#taken) this.#binding.closeSocket(socket);
    this.#taken.clear();
  }
}
