import {
  AbortedError,
  type CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  RuntimeError,
  UnavailableError,
} from '@coll/core';
import { bytesOfDescriptors, Descriptors, failureReasons as failureKinds, failureOf } from '@coll/core/internal';
import type { NativeFailure } from './process-binding.js';

export { failureKinds };

/** Why a group ended. */
export type FailureKind = (typeof failureKinds)[number];

/** The error of every collective of an ended group; without a number, that of the group itself. */
export function failureError(operation: string, number: number | undefined, failure: NativeFailure): CollError {
  const [kind, rank, text] = failure;
  const found = failureKinds[kind] ?? 'failed';
  const where = number === undefined ? '' : ` (collective ${number} of the group)`;
  const details = { operation, rank };
  const told = text.startsWith(operation) ? text : `${operation}${where}: ${text}`;
  switch (found) {
    case 'shapes':
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', text, details);
    case 'dtypes':
      return new InternalError('ERR_COLL_DTYPE_MISMATCH', text, details);
    case 'mismatch':
      return new InternalError('ERR_COLL_MISMATCH', text, details);
    case 'deadline':
      return new DeadlineExceededError('ERR_COLL_DEADLINE', told, details);
    case 'aborted':
      return new AbortedError('ERR_COLL_ABORTED', told, details);
    case 'closed':
      return new RuntimeError('ERR_COLL_CLOSED', told, details);
    default:
      return new UnavailableError('ERR_COLL_PEER_FAILED', told, details);
  }
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
  return failureOf(error, 0).reason;
}

function mostFrequent(states: readonly (readonly number[])[]): readonly number[] {
  const votes = (state: readonly number[]) => states.filter((other) => other.join() === state.join()).length;
  return states.reduce((best, state) => (votes(state) > votes(best) ? state : best));
}
