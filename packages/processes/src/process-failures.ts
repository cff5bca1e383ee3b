import { type CollError, InternalError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, type Failure, failureReasons } from '@coll/core/internal';
import type { NativeFailure } from './process-binding.js';

/** Converts a failure from the form of native code. `hosts`: the host of each member. */
export function failureFrom([kind, rank, ranks, text, lost]: NativeFailure, hosts: readonly string[]): Failure {
  const places = [rank, ...ranks].map((other) => hosts[other] ?? '');
  return {
    reason: failureReasons[kind] ?? 'failed',
    rank,
    ranks,
    text,
    hosts: places,
    ...(lost.length > 0 ? { lost } : {}),
  };
}

/**
 * Makes the error for ranks whose requests differ, with the same text as for ranks in threads. The
 * request of a rank is undefined if it is unknown. `names`: the names of the ranks.
 */
export function disagreementOf(
  states: readonly (readonly number[] | undefined)[],
  names?: readonly string[],
): CollError {
  const table = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(states.length)), states.length);
  // Ranks that have not arrived count as part of the majority, and so are not named.
  const usual = mostFrequent(states.filter((state) => state !== undefined));
  for (const [rank, state] of states.entries()) table.announcedBy(rank).set(state ?? usual);
  const advice = 'all ranks must make the same calls in the same order';
  const found = table.mismatch(names);
  return found ?? new InternalError('ERR_COLL_MISMATCH', `ranks disagree about a collective; ${advice}`);
}

function mostFrequent(states: readonly (readonly number[])[]): readonly number[] {
  const votes = (state: readonly number[]) => states.filter((other) => other.join() === state.join()).length;
  return states.reduce((best, state) => (votes(state) > votes(best) ? state : best));
}
