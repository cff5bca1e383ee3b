import { AbortedError, RuntimeError, ValueError } from '../support/errors.js';

/** Which call failed, and of whom where that is one rank. */
export interface CallDetails {
  readonly operation: string;
  readonly rank?: number;
}

/** For a call of what cannot be had, for a reason in words. */
export function refusedError(reason: string, details: CallDetails): ValueError {
  return new ValueError('ERR_COLL_REFUSED', `${details.operation}: ${reason}`, details);
}

/** For a call of a communicator that is not open any more. */
export function closedError(details: CallDetails): RuntimeError {
  return new RuntimeError('ERR_COLL_CLOSED', `${details.operation}: this communicator was closed`, details);
}

/** For a blocking call before an asynchronous one has ended. */
export function busyError(details: CallDetails): RuntimeError {
  const told = `${details.operation}: an asynchronous collective of this communicator is still running; await it first`;
  return new RuntimeError('ERR_COLL_BUSY', told, details);
}

/** For a call that its signal has ended; `when` completes the sentence. */
export function abortedError(when: string, signal: AbortSignal | undefined, details: CallDetails): AbortedError {
  const told = `${details.operation} was aborted ${when}`;
  return new AbortedError('ERR_COLL_ABORTED', told, { ...details, cause: signal?.reason });
}

/** For memory that its owner gave away while a call was under way. */
export function lostBufferError(operation: string, rank: number): ValueError {
  const told = `${operation}: a buffer of rank ${rank} was detached or resized while it was in use; keep it until the call has ended`;
  return new ValueError('ERR_COLL_BUFFER', told, { operation, rank });
}

/** For memory that two ranks handed in. */
export function clashError(operation: string, rank: number, other: number): ValueError {
  const told = `one buffer was given twice: the output of rank ${rank} overlaps memory of rank ${other}`;
  return new ValueError('ERR_COLL_BUFFER', `${operation}: ${told}`, { operation, rank });
}
