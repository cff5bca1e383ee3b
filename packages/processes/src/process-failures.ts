import { type CollError, InternalError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, failureError as errorOf, reasonOf } from '@coll/core/internal';
import type { NativeFailure } from './process-binding.js';

/** Reasons why a group ended, in C++'s numbering. */
export const failureKinds = [
  'shapes',
  'dtypes',
  'mismatch',
  'aborted',
  'failed',
  'closed',
  'deadline',
  'lost',
] as const;

/** Why a group ended. */
export type FailureKind = (typeof failureKinds)[number];

/** The error of every collective of an ended group; without a number, that of the group itself. */
export function failureError(operation: string, number: number | undefined, failure: NativeFailure): CollError {
  const [kind, rank, text] = failure;
  const found = failureKinds[kind] ?? 'failed';
  const reason = found === 'failed' || found === 'lost' ? 'peer' : found;
  return errorOf(reason, text, { operation, rank }, number === undefined ? '' : ` (collective ${number} of the group)`);
}

/**
 * How ranks disagree; some requests may be unknown. Same kinds and words as for threads. `names`
 * are the names of the ranks.
 */
export function disagreementOf(
  states: readonly (readonly number[] | undefined)[],
  names?: readonly string[],
): CollError {
  const table = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(states.length)), states.length);
  // Ranks that have not arrived count as part of the majority, and so are not named.
  const usual = mostFrequent(states.filter((state) => state !== undefined));
  for (const [rank, state] of states.entries()) table.announcedBy(rank).set(state ?? usual);
  const cure = 'all ranks must make the same calls in the same order';
  const found = table.mismatch(names);
  return found ?? new InternalError('ERR_COLL_MISMATCH', `ranks disagree about a collective; ${cure}`);
}

/** The failure kind of such an error. */
export function kindOf(error: CollError): FailureKind {
  const reason = reasonOf(error);
  return reason === 'peer' ? 'failed' : reason;
}

function mostFrequent(states: readonly (readonly number[])[]): readonly number[] {
  const votes = (state: readonly number[]) => states.filter((other) => other.join() === state.join()).length;
  return states.reduce((best, state) => (votes(state) > votes(best) ? state : best));
}
