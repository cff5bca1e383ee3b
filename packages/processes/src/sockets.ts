import type { ProcessBinding } from '@coll/native';

/** Who is at the other end of a connection, and what it is for. */
interface Taken {
  readonly rank: number;
  readonly channel: number;
  readonly socket: number;
}

/** Connections that were taken over from Node, until a group has them. */
export class Sockets {
  readonly #binding: ProcessBinding;
  readonly #taken = new Set<number>();

  constructor(binding: ProcessBinding) {
    this.#binding = binding;
  }

  /** Takes over a descriptor of Node's. */
  take(descriptor: number): number {
    const socket = this.#binding.takeSocket(descriptor);
    this.#taken.add(socket);
    return socket;
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

  /** Closes those that nobody has got. */
  close(): void {
    for (const socket of this.#taken) this.#binding.closeSocket(socket);
    this.#taken.clear();
  }
}
