import type { Post, Postbox } from '../messages/postbox.js';
import { openChannel, type ThreadChannel } from './thread-channel.js';

/**
 * Sends and receives posts (steps of messages) for one rank of a group of threads. Each rank
 * receives on its own channel.
 */
export class ThreadPostbox implements Postbox {
  readonly #id: string;
  readonly #inbox: ThreadChannel;
  readonly #peers = new Map<number, ThreadChannel>();

  /** `id`: the group's id. */
  constructor(id: string, rank: number, deliver: (post: Post) => void) {
    this.#id = id;
    this.#inbox = openChannel(`${id}/${rank}`, (post) => deliver(post as Post));
  }

  open(peer: number): void {
    if (!this.#peers.has(peer)) this.#peers.set(peer, openChannel(`${this.#id}/${peer}`));
  }

  post(peer: number, post: Post): undefined {
    this.open(peer);
    this.#peers.get(peer)?.post(post);
  }

  setWaiting(isWaiting: boolean): void {
    this.#inbox.setWaiting(isWaiting);
  }

  close(): void {
    for (const channel of [this.#inbox, ...this.#peers.values()]) channel.close();
  }
}
