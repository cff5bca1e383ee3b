import type { Group } from '../runtime/communicator.js';
import type { CollError } from '../support/errors.js';
import type { DType, TypedArray } from '../values/dtype.js';

/** Identifies a message: the `number`-th, from 0, that rank `from` sends to rank `to`. */
export interface MessageId {
  readonly from: number;
  readonly to: number;
  readonly number: number;
}

/**
 * One step of a message between two ranks. The sender offers a message, the receiver requests it
 * once it has memory for it, and the sender then posts its elements. Nothing is buffered for a
 * receiver that has not called `receive`. `layout` is a hash of the value's shape, as in `RunOptions`.
 */
export type Post = MessageId &
  (
    | { readonly type: 'offer' | 'request' }
    | {
        readonly type: 'elements';
        readonly dtype: DType;
        readonly length: number;
        readonly layout: number;
        readonly data: TypedArray;
      }
  );

/**
 * Carries the posts (steps of messages) of one rank to the other ranks. Posts between two ranks
 * keep their order.
 */
export interface Postbox {
  /**
   * Opens the connection with `peer` in both directions. Idempotent. A post may be lost if the peer
   * has not yet opened the connection, too.
   */
  open(peer: number): void;
  /**
   * Posts to a rank. The promise resolves when the data of an `elements` post may be reused;
   * undefined means that the data may be reused at once.
   */
  post(peer: number, post: Post): Promise<void> | undefined;
  /** Sets whether this rank waits for a message; if so, its thread or process must stay alive. */
  setWaiting(isWaiting: boolean): void;
  /**
   * Whether `peer` has left, as in this `failure` of the group, and what it posted before that may
   * still be on its way. Must become false after some seconds. Default: never.
   */
  isDraining?(peer: number, failure: CollError): boolean;
  /** Ends all connections, once the peers have read what was posted. */
  close(): void | Promise<void>;
}

/** The group whose ranks exchange messages. */
export interface MessageGroup extends Pick<Group, 'failure' | 'fail' | 'recorded'> {
  /** Whether a rank has left the group. Default: the postbox reports it, by `left`. */
  hasLeft?(rank: number): boolean;
}
