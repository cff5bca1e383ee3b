import { type DType, dtypes, type TypedArray, ValueError } from '@coll/core';
import type { PointToPoint, Post, Postbox } from '@coll/core/internal';
import { byteSize, viewOf } from '@coll/core/plugin';
import type { GroupHandle, MpiBinding } from './mpi-binding.js';

// A post: type, dtype, number of the message, number of elements, layout; then the elements.
const words = 5;
const types = ['offer', 'request', 'elements'] as const;
// MPI counts the bytes of a message in 32 bits.
const mostBytes = 2 ** 31 - 1 - 8 * words;

/** Sends and receives the posts (steps of messages between two ranks) of one rank, by MPI. */
export class MpiPostbox implements Postbox {
  readonly #binding: MpiBinding;
  readonly #group: GroupHandle;
  readonly #rank: number;
  readonly #messages: () => PointToPoint;
  readonly #left = new Set<number>();
  #isWaiting = false;

  /** `messages` returns the object that receives the posts of other ranks. */
  constructor(binding: MpiBinding, group: GroupHandle, rank: number, messages: () => PointToPoint) {
    this.#binding = binding;
    this.#group = group;
    this.#rank = rank;
    this.#messages = messages;
  }

  open(peer: number): void {
    if (this.#left.has(peer)) void Promise.resolve().then(() => this.#messages().left(peer));
  }

  /** The addon copies the data, so that it may be reused at once. */
  post(peer: number, post: Post): undefined {
    if (this.#left.has(peer)) return;
    const head = new Float64Array(words);
    head[0] = types.indexOf(post.type);
    head[2] = post.number;
    if (post.type === 'elements') {
      requireShort(post.data.byteLength, this.#rank, peer);
      head[1] = dtypes.indexOf(post.dtype);
      head[3] = post.length;
      head[4] = post.layout;
    }
    const data = post.type === 'elements' ? bytesOf(post.data) : undefined;
    this.#binding.post(this.#group, peer, bytesOf(head), data);
  }

  /** Delivers the posts that have come, and the news of ranks that have left. */
  deliver(): void {
    for (const [peer, bytes] of this.#binding.events(this.#group)) {
      if (bytes) {
        this.#messages().deliver(postOf(bytes, peer, this.#rank));
      } else {
        this.#left.add(peer);
        this.#messages().left(peer);
      }
    }
  }

  setWaiting(isWaiting: boolean): void {
    if (isWaiting === this.#isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#binding.listen(this.#group, isWaiting);
    this.#binding.hold(this.#group, isWaiting);
  }

  close(): void {
    this.setWaiting(false);
  }
}

function postOf(bytes: ArrayBuffer, from: number, rank: number): Post {
  const head = new Float64Array(bytes, 0, words);
  const [type = 0, dtypeIndex = 0, number = 0, length = 0, layout = 0] = head;
  const name = types[type] as (typeof types)[number];
  // A request goes to the sender of the message, everything else to its receiver.
  const id = name === 'request' ? { from: rank, to: from, number } : { from, to: rank, number };
  if (name !== 'elements') return { ...id, type: name };
  const dtype = dtypes[dtypeIndex] as DType;
  const elements = bytes.slice(words * 8, words * 8 + length * byteSize(dtype));
  return { ...id, type: 'elements', dtype, length, layout, data: viewOf(dtype, elements, 0, length) };
}

function requireShort(bytes: number, rank: number, peer: number): void {
  if (bytes <= mostBytes) return;
  const operation = `send to rank ${peer}`;
  const message = `a message over MPI must have at most ${mostBytes} bytes, got ${bytes}; send it in parts`;
  throw new ValueError('ERR_COLL_BUFFER', `${operation}: ${message}`, { operation, rank });
}

function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
