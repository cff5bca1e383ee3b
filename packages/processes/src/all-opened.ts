import { setTimeout } from 'node:timers/promises';
import { AbortedError, type CollError, DeadlineExceededError } from '@coll/core';
import type { MemberConfig } from './member-config.js';
import type { NativeProcessGroup } from './process-group.js';

// Poll interval. Opening takes some tens of milliseconds.
const lookMillis = 1;

/**
 * Waits until every member needs only the other members. The process that hosts the store may block
 * from then on. Members signal each other over the group's connections, not through the store.
 * Undefined `secondsLeft` means no limit.
 * @throws DeadlineExceededError that names the members that did not get there; AbortedError; the
 * failure of the group
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
    if (member.signal?.aborted) throw ended(group, 'aborted', abortedError(member));
    if (performance.now() > until) throw ended(group, 'deadline', lateError(member, late));
    await setTimeout(lookMillis);
  }
}

/** Also notifies the other members. */
function ended(group: NativeProcessGroup, kind: 'aborted' | 'deadline', error: CollError): CollError {
  group.fail(kind, error.message);
  return error;
}

/** The error for a member whose caller has aborted the opening. */
export function abortedError({ rank, signal }: MemberConfig, error?: unknown): AbortedError {
  const details = { rank, operation: 'open a group', cause: signal?.reason ?? error };
  return new AbortedError('ERR_COLL_ABORTED', `rank ${rank} was aborted while it opened a group`, details);
}

function lateError({ rank, timeoutSeconds }: MemberConfig, late: readonly string[]): DeadlineExceededError {
  const told = `rank ${rank} waited ${timeoutSeconds} seconds for the other members: ${late.join(', ')} did not open the group`;
  return new DeadlineExceededError('ERR_COLL_DEADLINE', told, { rank, operation: 'open a group' });
}
