import { setTimeout } from 'node:timers/promises';
import { AbortedError } from '@coll/core';
import type { MemberConfig } from './member-config.js';
import type { NativeProcessGroup } from './process-group.js';

// Poll interval. Opening takes some tens of milliseconds.
const lookMillis = 1;

/**
 * Waits until no member needs the store any more, so that the process that hosts it may block.
 * Members signal each other over the group's connections. If `secondsLeft` is undefined, there is
 * no limit.
 * @throws DeadlineExceededError that names the members that did not open the group; AbortedError;
 * the failure of the group
 */
export async function awaitAllOpened(
  group: NativeProcessGroup,
  member: MemberConfig,
  secondsLeft: number | undefined,
): Promise<void> {
  const until = secondsLeft === undefined ? Infinity : performance.now() + secondsLeft * 1000;
  group.tellOpened();
  for (let late = group.unopened; late.length > 0; late = group.unopened) {
    const failure = group.failure();
    if (failure) throw failure;
    if (member.signal?.aborted) {
      group.fail('aborted', 'was aborted while it opened the group');
      throw abortedError(member);
    }
    if (performance.now() > until) {
      group.fail('deadline', 'did not finish opening the group', late);
      throw group.failure('open a group');
    }
    await setTimeout(lookMillis);
  }
}

/**
 * The error of a caller that aborts while its group is being opened. `error` is its cause if the
 * signal has no reason.
 */
export function abortedError({ rank, signal }: MemberConfig, error?: unknown): AbortedError {
  const details = { rank, operation: 'open a group', cause: signal?.reason ?? error };
  return new AbortedError('ERR_COLL_ABORTED', `rank ${rank} was aborted while it opened a group`, details);
}
