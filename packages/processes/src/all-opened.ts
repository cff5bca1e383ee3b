import { setTimeout } from 'node:timers/promises';
import { AbortedError } from '@coll/core';
import type { MemberConfig } from './member-config.js';
import type { NativeProcessGroup } from './process-group.js';

// Pauses between two looks: a tenth of the time so far, which delays the opening by as little. If
// many members share few cores, a member that looks often delays those that are still opening.
const leastPauseMillis = 1;
const longestPauseMillis = 20;

/**
 * Waits until all members have opened the group. The store is then not needed any more, so the
 * process that hosts it may block. Members report over the group's connections that they have
 * opened the group. If `secondsLeft` is undefined, there is no limit.
 * @throws DeadlineExceededError that names the members that did not open the group; AbortedError;
 * the failure of the group
 */
export async function awaitAllOpened(
  group: NativeProcessGroup,
  member: MemberConfig,
  secondsLeft: number | undefined,
): Promise<void> {
  const until = secondsLeft === undefined ? Infinity : performance.now() + secondsLeft * 1000;
  const begun = performance.now();
  group.tellOpened();
  for (let late = group.unopened; late.length > 0; late = group.unopened) {
    const failure = group.failure('open a group');
    if (failure) throw failure;
    if (member.signal?.aborted) {
      group.fail('aborted', 'was aborted while it opened the group');
      throw abortedError(member);
    }
    if (performance.now() > until) {
      group.fail('deadline', 'did not finish opening the group', late);
      throw group.failure('open a group');
    }
    const tenth = (performance.now() - begun) / 10;
    await setTimeout(Math.min(Math.max(tenth, leastPauseMillis), longestPauseMillis));
  }
}

/**
 * Makes the error for a caller that aborts while its group is being opened. The error's cause is
 * the signal's reason or, if the signal has none, `error`.
 */
export function abortedError({ rank, signal }: MemberConfig, error?: unknown): AbortedError {
  const details = { rank, operation: 'open a group', cause: signal?.reason ?? error };
  return new AbortedError('ERR_COLL_ABORTED', `rank ${rank} was aborted while it opened a group`, details);
}
