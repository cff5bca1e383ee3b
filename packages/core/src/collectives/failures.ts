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
 * Why a group ended: an error of a member, a deadline, a signal, a member that closed the group
 * while others waited, or a disagreement between members (about the call, or only about shapes or
 * dtypes).
 */
export type FailureReason = (typeof failureReasons)[number];

/** The reason reported to the other members when this error ended the group for one. */
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

/** The error for each collective of a failed group. `where` identifies the collective and follows its name. */
export function failureError(
  reason: FailureReason,
  text: string,
  details: { readonly operation: string; readonly rank: number },
  where = '',
): CollError {
  // Errors about disagreements, or from another collective, already name the operation.
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
