import {
  AbortedError,
  type CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  RuntimeError,
  UnavailableError,
} from '../support/errors.js';

export const failureReasons = ['peer', 'deadline', 'aborted', 'closed', 'mismatch', 'shapes', 'dtypes'] as const;

/**
 * Why a group ended: a member's error, a deadline, a signal, a member that closed it while others were waiting, or members that disagreed: about what to
 * do, or about shapes or dtypes only.
 */
export type FailureReason = (typeof failureReasons)[number];

/** Why a group ends for its other members where such an error ended it for one. */
export function reasonOf({ code }: CollError): FailureReason {
  switch (code) {
    case 'ERR_COLL_DEADLINE':
      return 'deadline';
    case 'ERR_COLL_ABORTED':
      return 'aborted';
    case 'ERR_COLL_CLOSED':
      return 'closed';
    case 'ERR_COLL_MISMATCH':
      return 'mismatch';
    case 'ERR_COLL_SHAPE_MISMATCH':
      return 'shapes';
    case 'ERR_COLL_DTYPE_MISMATCH':
      return 'dtypes';
    default:
      return 'peer';
  }
}

/** The error of each collective of a group that has ended, in `text`; `where` says which one it is, after its name. */
export function failureError(
  reason: FailureReason,
  text: string,
  details: { readonly operation: string; readonly rank: number },
  where = '',
): CollError {
  // Who tells of a disagreement, or of another collective, names that already.
  const told = text.startsWith(details.operation) ? text : `${details.operation}${where}: ${text}`;
  switch (reason) {
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
