import { AbortedError, RuntimeError, ValueError } from '../support/errors.js';
import { rankError } from './failures.js';

/** The call that failed, and its rank if a single rank failed. */
export interface CallDetails {
  readonly operation: string;
  readonly rank?: number;
}

/**
 * The error for a call that cannot be served; `reason` is a phrase for the user.
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
 * The error for a call on a closed communicator.
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
 * The error for a blocking call made while an asynchronous one is under way.
 *
 * @example
 * ```ts
 * import { busyError } from '@coll/core/plugin';
 *
 * console.log(busyError({ operation: 'all-reduce sum' }).code); // ERR_COLL_BUSY
 * ```
 */
export function busyError(details: CallDetails): RuntimeError {
  const message = `${details.operation}: an asynchronous collective of this communicator is still running; await it first`;
  return new RuntimeError('ERR_COLL_BUSY', message, details);
}

/** The error for a blocking call in a thread that must not block. `advice` names another way than the asynchronous call. */
export function blockingError(problem: string, advice: string, details: CallDetails): RuntimeError {
  const message = `${details.operation}: this call ${problem}: await the asynchronous call, or ${advice}`;
  return new RuntimeError('ERR_COLL_CONTEXT', message, details);
}

/**
 * The error for a call aborted by its signal; in its message, `when` follows "was aborted".
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
  const message = `${details.operation} was aborted ${when}`;
  return new AbortedError('ERR_COLL_ABORTED', message, { ...details, cause: signal?.reason });
}

/**
 * The error for a buffer that was detached or resized while a call used it.
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
  const problem = ' was detached or resized while it was in use; keep it until the call has ended';
  const text = [`${operation}: a buffer of rank `, rank, problem];
  return rankError(ValueError, 'ERR_COLL_BUFFER', text, { operation, rank });
}

/**
 * The error for an output of `rank` that overlaps memory of rank `other`.
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
  const problem = `${operation}: one buffer was given twice: the output of rank `;
  const text = [problem, rank, ' overlaps memory of rank ', other];
  return rankError(ValueError, 'ERR_COLL_BUFFER', text, { operation, rank });
}
