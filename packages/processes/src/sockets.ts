import { Socket } from 'node:net';
import type { Descriptors } from './descriptors.js';
import type { ProcessBinding } from './process-binding.js';

/** A connection that was taken over from Node.js, its peer and its channel. */
interface Taken {
  readonly rank: number;
  readonly channel: number;
  readonly socket: number;
}

/** Connections taken over from Node.js, until a group owns them. */
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

  /** Closes a connection that no group will own. */
  discard(socket: number): void {
    if (this.#taken.delete(socket)) this.#binding.closeSocket(socket);
  }

  /** Turns a taken descriptor into a Node.js socket again. */
  giveBack(socket: number): Socket {
    this.#taken.delete(socket);
    return new Socket({ fd: socket, readable: true, writable: true });
  }

  /**
   * Returns the connections with each rank, in the order of their channels, so that both ends use
   * the same order. From then on, the caller must close them.
   */
  handOver(connections: readonly Taken[]): ReadonlyMap<number, readonly number[]> {
    const byRank = new Map<number, number[]>();
    for (const { rank, socket } of [...connections].sort((a, b) => a.channel - b.channel)) {
      this.#taken.delete(socket);
      byRank.set(rank, [...(byRank.get(rank) ?? []), socket]);
    }
    return byRank;
  }

  /** Closes the connections that were not handed over; later calls of `take` throw. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#taken) this.#binding.closeSocket(socket);
    this.#taken.clear();
  }
}
