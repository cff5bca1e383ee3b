import { brandErrors, type ErrorCode, type ErrorDetails } from './errors.js';

/**
 * A value of the wrong type; also an instance of the built-in `TypeError`.
 *
 * @example
 * ```ts
 * import { PerReplica, selectReplicaMirrored, WrongTypeError } from '@coll/core';
 *
 * try {
 *   selectReplicaMirrored(0, new PerReplica(['here', 'there']));
 * } catch (error) {
 *   console.log(error instanceof WrongTypeError, error instanceof TypeError); // true true
 * }
 * ```
 */
export class WrongTypeError extends TypeError {
  readonly code: ErrorCode = 'ERR_COLL_TYPE';
  readonly rank?: number;
  readonly operation?: string;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'TypeError';
    if (details.rank !== undefined) this.rank = details.rank;
    if (details.operation !== undefined) this.operation = details.operation;
  }
}

/**
 * An index out of range; also an instance of the built-in `RangeError`.
 *
 * @example
 * ```ts
 * import { OutOfRangeError, PerReplica, selectReplica } from '@coll/core';
 *
 * try {
 *   selectReplica(2, new PerReplica(['here', 'there']));
 * } catch (error) {
 *   console.log(error instanceof OutOfRangeError, error instanceof RangeError); // true true
 * }
 * ```
 */
export class OutOfRangeError extends RangeError {
  readonly code: ErrorCode = 'ERR_COLL_RANGE';
  readonly rank?: number;
  readonly operation?: string;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'RangeError';
    if (details.rank !== undefined) this.rank = details.rank;
    if (details.operation !== undefined) this.operation = details.operation;
  }
}

brandErrors(WrongTypeError);
brandErrors(OutOfRangeError);
