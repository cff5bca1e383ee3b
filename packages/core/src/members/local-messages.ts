import type { Group, RunOptions } from '../collectives/communicator.js';
import type { Tensor } from '../values/tensor.js';
import { PointToPoint, type Post, type Postbox } from './point-to-point.js';

/** Messages between ranks of one thread. */
export class LocalMessages {
  readonly #group: Pick<Group, 'failure' | 'fail'>;
  readonly #ranks = new Map<number, PointToPoint>();

  constructor(group: Pick<Group, 'failure' | 'fail'>) {
    this.#group = group;
  }

  send(from: number, to: number, value: Tensor, options?: RunOptions): Promise<void> {
    return this.#of(from).send(to, value, options);
  }

  receive(rank: number, from: number, into: Tensor, options?: RunOptions): Promise<void> {
    return this.#of(rank).receive(from, into, options);
  }

  /** Ends all calls of `send` and `receive` that are under way if the group has failed. */
  endIfFailed(): void {
    for (const messages of this.#ranks.values()) messages.endIfFailed();
  }

  #of(rank: number): PointToPoint {
    const known = this.#ranks.get(rank);
    if (known) return known;
    const postbox: Postbox = {
      open: () => {},
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
