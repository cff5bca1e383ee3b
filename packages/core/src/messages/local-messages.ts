import type { Group, RunOptions } from '../runtime/communicator.js';
import type { Tensor } from '../values/tensor.js';
import { PointToPoint } from './point-to-point.js';
import type { Post, Postbox } from './postbox.js';

/** Messages between ranks of one thread. */
export class LocalMessages {
  readonly #group: Pick<Group, 'failure' | 'fail'>;
  readonly #ranks = new Map<number, PointToPoint>();
  readonly #left = new Set<number>();

  constructor(group: Pick<Group, 'failure' | 'fail'>) {
    this.#group = group;
  }

  send(from: number, to: number, value: Tensor, options?: RunOptions): Promise<void> {
    return this.#of(from).send(to, value, options);
  }

  receive(rank: number, from: number, into: Tensor, options?: RunOptions): Promise<void> {
    return this.#of(rank).receive(from, into, options);
  }

  refuse(rank: number, call: 'send' | 'receive', peer: number, error: unknown): void {
    this.#of(rank).refuse(call, peer, error);
  }

  /** Ends all calls of `send` and `receive` that are under way if the group has failed. */
  endIfFailed(): void {
    for (const messages of this.#ranks.values()) messages.endIfFailed();
  }

  /** A rank leaves: messages with it end, those between other ranks go on. */
  leave(rank: number): void {
    if (this.#left.has(rank)) return;
    this.#left.add(rank);
    void this.#of(rank).close();
    for (const messages of this.#ranks.values()) messages.left(rank);
  }

  #of(rank: number): PointToPoint {
    const known = this.#ranks.get(rank);
    if (known) return known;
    const postbox: Postbox = {
      open: (peer) => {
        if (this.#left.has(peer)) void Promise.resolve().then(() => this.#of(rank).left(peer));
      },
      post: (peer: number, post: Post) => {
        this.#of(peer).deliver(post);
        return undefined;
      },
      setWaiting: () => {},
      close: () => {},
    };
    const made = new PointToPoint(rank, postbox, this.#group);
    this.#ranks.set(rank, made);
    return made;
  }
}
