import { type CollError, InternalError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, failureError as errorOf, reasonOf } from '@coll/core/internal';
import type { NativeFailure } from './process-binding.js';

/** Why a group ended, in the order in which C++ numbers them. */
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

/** The error of every collective of a group that has ended; without a number, that of the group itself. */
export function failureError(operation: string, number: number | undefined, failure: NativeFailure): CollError {
  const [kind, rank, text] = failure;
  const found = failureKinds[kind] ?? 'failed';
  const reason = found === 'failed' || found === 'lost' ? 'peer' : found;
  return errorOf(reason, text, { operation, rank }, number === undefined ? '' : ` (collective ${number} of the group)`);
}

/** How ranks disagree, of which some may be unknown; the same kinds and words as among threads. `names` stand for the ranks. */
export function disagreementOf(
  states: readonly (readonly number[] | undefined)[],
  names?: readonly string[],
): CollError {
  const table = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(states.length)), states.length);
  // Who has not come yet is counted among the majority, and so not named.
  const usual = mostFrequent(states.filter((state) => state !== undefined));
  for (const [rank, state] of states.entries()) table.saidBy(rank).set(state ?? usual);
  const cure = 'all ranks must make the same calls in the same order';
  const found = table.mismatch(names);
  return found ?? new InternalError('ERR_COLL_MISMATCH', `ranks disagree about a collective; ${cure}`);
}

/** The kind of failure that such an error stands for. */
export function kindOf(error: CollError): FailureKind {
  const reason = reasonOf(error);
  return reason === 'peer' ? 'failed' : reason;
}

function mostFrequent(states: readonly (readonly number[])[]): readonly number[] {
  const votes = (state: readonly number[]) => states.filter((other) => other.join() === state.join()).length;
  return states.reduce((best, state) => (votes(state) > votes(best) ? state : best));
}
