import type { ThreadGroup } from '../runtime/engine.js';
import { host, type Port, threads } from '../support/worker-threads.js';
import { SharedBarrier } from './shared-barrier.js';

/**
 * Detects that the thread of a rank has ended. Each rank sends one end of a message channel to the
 * thread that created the group. Node.js closes both ends when either thread ends, for any reason:
 * the creator then fails the group because of the rank, and a rank fails the group because of the
 * creator's rank, if the creator has one.
 */

const key = '@coll/core/joined';

/** Sent by a rank that has joined a group to the thread that created the group. */
interface Joined {
  readonly control: SharedArrayBuffer;
  readonly size: number;
  readonly rank: number;
  readonly port: Port;
}

let isWatching = false;

/**
 * Makes this thread watch the ranks of all groups that it creates. Returns the number of this
 * thread; undefined on platforms that cannot watch threads.
 */
export function watchRanks(): number | undefined {
  if (!threads?.postMessageToThread) return undefined;
  if (!isWatching) host?.on('workerMessage', watch);
  isWatching = true;
  return threads.threadId;
}

function watch(message: unknown): void {
  const joined = (message as { readonly [key]?: Joined } | undefined)?.[key];
  if (!joined) return;
  const { control, size, rank, port } = joined;
  let hasLeft = false;
  port.on('message', () => {
    hasLeft = true;
  });
  port.on('close', () => {
    if (!hasLeft) new SharedBarrier(control, size, 0).lose(rank);
  });
  port.unref();
}

/**
 * Lets the creator of a group watch this thread as a rank of the group. Returns a function to call
 * when the rank leaves the group.
 */
export function beWatched({ creator, control, size }: ThreadGroup, rank: number, barrier: SharedBarrier): () => void {
  if (creator === undefined || !threads?.postMessageToThread) return () => {};
  if (creator === threads.threadId) {
    barrier.creator = rank;
    return () => {
      barrier.creator = undefined;
    };
  }
  const { port1: own, port2: port } = new threads.MessageChannel();
  let hasLeft = false;
  own.on('close', () => {
    if (!hasLeft && barrier.creator !== undefined) barrier.lose(barrier.creator);
  });
  own.unref();
  // If the creator has ended, the promise is rejected, and `own` closes.
  threads.postMessageToThread(creator, { [key]: { control, size, rank, port } }, [port]).catch(() => {});
  return () => {
    hasLeft = true;
    own.postMessage('left');
    own.close();
  };
}
