import { AbortedError, RuntimeError, ValueError } from '../support/errors.js';
import { type RankWords, rankError } from '../support/rank-words.js';

/** The call that failed, and its rank if a single rank failed. */
export interface CallDetails {
  readonly operation: string;
  readonly rank?: number;
}

/**
 * For a call that cannot be served; `reason` is a phrase for the user.
 *
 * @example
 * ```ts
 * import { refusedError } from '@coll/core/plugin';
 *
 * const error = refusedError('there is no schedule for 3 ranks', { operation: 'all-reduce sum' });
 * console.log(error.code); // ERR_COLL_REFUSED
 * ```
 */
export function refusedError(reason: string, details: CallDetails): ValueError {
  return new ValueError('ERR_COLL_REFUSED', `${details.operation}: ${reason}`, details);
}

/**
 * For a call on a closed communicator.
 *
 * @example
 * ```ts
 * import { closedError } from '@coll/core/plugin';
 *
 * const error = closedError({ operation: 'all-reduce sum', rank: 1 });
 * console.log(error.code, error.rank); // ERR_COLL_CLOSED 1
 * ```
 */
export function closedError(details: CallDetails): RuntimeError {
  return new RuntimeError('ERR_COLL_CLOSED', `${details.operation}: this communicator was closed`, details);
}

/**
 * For a blocking call made while an asynchronous one is under way.
 *
 * @example
 * ```ts
 * import { busyError } from '@coll/core/plugin';
 *
 * console.log(busyError({ operation: 'all-reduce sum' }).code); // ERR_COLL_BUSY
 * ```
 */
export function busyError(details: CallDetails): RuntimeError {
  const told = `${details.operation}: an asynchronous collective of this communicator is still running; await it first`;
  return new RuntimeError('ERR_COLL_BUSY', told, details);
}

/**
 * For a call aborted by its signal; `when` completes the sentence.
 *
 * @example
 * ```ts
 * import { abortedError } from '@coll/core/plugin';
 *
 * const signal = AbortSignal.abort('the user left');
 * const error = abortedError('before it began', signal, { operation: 'all-reduce sum' });
 * console.log(error.code, error.cause); // ERR_COLL_ABORTED the user left
 * ```
 */
export function abortedError(when: string, signal: AbortSignal | undefined, details: CallDetails): AbortedError {
  const told = `${details.operation} was aborted ${when}`;
  return new AbortedError('ERR_COLL_ABORTED', told, { ...details, cause: signal?.reason });
}

/**
 * For memory that its owner transferred while a call was under way.
 *
 * @example
 * ```ts
 * import { lostBufferError } from '@coll/core/plugin';
 *
 * const error = lostBufferError('all-reduce sum', 2);
 * console.log(error.code, error.rank); // ERR_COLL_BUFFER 2
 * ```
 */
export function lostBufferError(operation: string, rank: number): ValueError {
  const words: RankWords = (name) =>
    `${operation}: a buffer of rank ${name(rank)} was detached or resized while it was in use; keep it until the call has ended`;
  return rankError(ValueError, 'ERR_COLL_BUFFER', words, { operation, rank });
}

/**
 * For memory that two ranks handed in.
 *
 * @example
 * ```ts
 * import { clashError } from '@coll/core/plugin';
 *
 * const error = clashError('all-reduce sum', 0, 1);
 * console.log(error.code, error.rank); // ERR_COLL_BUFFER 0
 * ```
 */
export function clashError(operation: string, rank: number, other: number): ValueError {
  const words: RankWords = (name) =>
    `${operation}: one buffer was given twice: the output of rank ${name(rank)} overlaps memory of rank ${name(other)}`;
  return rankError(ValueError, 'ERR_COLL_BUFFER', words, { operation, rank });
}
