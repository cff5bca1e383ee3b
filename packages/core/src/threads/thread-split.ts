import { abortedError } from '../collectives/call-errors.js';
import { failureError } from '../collectives/failures.js';
import type { Group, RunOptions } from '../runtime/communicator.js';
import type { ThreadGroup } from '../runtime/engine.js';
import type { CollError } from '../support/errors.js';
import { afterSeconds } from '../support/timer.js';
import { openChannel, type ThreadChannel } from './thread-channel.js';

/** A new group of threads that includes this thread. */
export interface SharedGroupOptions {
  /** The name of the new group, equal on all its threads and unique to it. */
  readonly name: string;
  /** The ranks, in the group being split, that form the new group. The first one creates the shared state. */
  readonly ranks: readonly number[];
  /** The rank of this thread in the group being split. */
  readonly rank: number;
  readonly make: () => ThreadGroup;
  /** The group being split. It fails if a thread's wait for the new group fails. */
  readonly group: Pick<Group, 'failure' | 'fail'>;
  readonly options: RunOptions;
}

type Message =
  | { readonly type: 'request'; readonly rank: number }
  | { readonly type: 'taken'; readonly rank: number }
  | { readonly type: 'group'; readonly group: ThreadGroup };

const lookMillis = 50;

/**
 * Makes a new group of threads: the first thread creates its shared state and posts it to the
 * others.
 */
export function shareGroup(options: SharedGroupOptions): Promise<ThreadGroup> | ThreadGroup {
  return options.rank === options.ranks[0] ? handOut(options) : request(options);
}

function handOut({ name, ranks, make }: SharedGroupOptions): ThreadGroup {
  const group = make();
  const missing = new Set(ranks.slice(1));
  if (missing.size === 0) return group;
  const channel = openChannel(name, (received) => {
    const message = received as Message;
    if (message.type === 'request') channel.post({ type: 'group', group } satisfies Message);
    if (message.type === 'taken' && missing.delete(message.rank) && missing.size === 0) channel.close();
  });
  channel.post({ type: 'group', group } satisfies Message);
  return group;
}

function request({ name, rank, ranks, group, options }: SharedGroupOptions): Promise<ThreadGroup> {
  const details = { operation: 'split', rank };
  const { signal, timeoutSeconds } = options;
  return new Promise((resolve, reject) => {
    const end = (error: CollError) => {
      group.fail(error);
      settle(() => reject(error));
    };
    const abort = () => end(abortedError('while it was under way', signal, details));
    const endTimer = afterSeconds(timeoutSeconds, () => end(tooLate(rank, ranks[0] as number)));
    signal?.addEventListener('abort', abort);
    const look = setInterval(() => {
      const { failure } = group;
      if (failure) settle(() => reject(failure));
    }, lookMillis);
    let channel: ThreadChannel | undefined;
    const settle = (act: () => void) => {
      endTimer();
      signal?.removeEventListener('abort', abort);
      clearInterval(look);
      channel?.close();
      act();
    };
    channel = openChannel(name, (received) => {
      const message = received as Message;
      if (message.type !== 'group') return;
      channel?.post({ type: 'taken', rank } satisfies Message);
      settle(() => resolve(message.group));
    });
    channel.setWaiting(true);
    channel.post({ type: 'request', rank } satisfies Message);
  });
}

function tooLate(rank: number, first: number): CollError {
  const text = 'did not create the memory of the new group';
  return failureError({ reason: 'deadline', rank, ranks: [first], text }, { operation: 'split' });
}
