import { Socket } from 'node:net';
import type { Descriptors } from './descriptors.js';
import type { ProcessBinding } from './process-binding.js';

/** Who is at the other end of a connection, and what it is for. */
interface Taken {
  readonly rank: number;
  readonly channel: number;
  readonly socket: number;
}

/** Connections that were taken over from Node, until a group has them. */
export class Sockets {
  readonly #binding: ProcessBinding;
  readonly #descriptors: Descriptors | undefined;
  readonly #taken = new Set<number>();
  #isClosed = false;

  constructor(binding: ProcessBinding, descriptors?: Descriptors) {
    this.#binding = binding;
    this.#descriptors = descriptors;
  }

  /** Takes over a descriptor of Node's. @throws Error after `close` */
  take(descriptor: number): number {
    if (this.#isClosed) throw new Error('nobody wants a connection any more');
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

  /** Makes one Node's again. */
  giveBack(socket: number): Socket {
    this.#taken.delete(socket);
    return new Socket({ fd: socket, readable: true, writable: true });
  }

  /** The connections with each rank, in the order of their channels, which is the same at both ends. Whoever gets them closes them. */
  handOver(connections: readonly Taken[]): ReadonlyMap<number, readonly number[]> {
    const byRank = new Map<number, number[]>();
    for (const { rank, socket } of [...connections].sort((a, b) => a.channel - b.channel)) {
      this.#taken.delete(socket);
      byRank.set(rank, [...(byRank.get(rank) ?? []), socket]);
    }
    return byRank;
  }

  /** Closes those that nobody has got, and takes no more. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#taken) this.#binding.closeSocket(socket);
    this.#taken.clear();
  }
}
