/**
 * Every error of this project is a `CollError`: a stable `code`, a message that says what happened,
 * where and what to do, and, if known, the rank and the operation.
 */

export type ErrorCode =
  | 'ERR_COLL_ABORTED'
  | 'ERR_COLL_API_VERSION'
  | 'ERR_COLL_BUFFER'
  | 'ERR_COLL_BUSY'
  | 'ERR_COLL_CLOSED'
  | 'ERR_COLL_CLUSTER'
  | 'ERR_COLL_CONTEXT'
  | 'ERR_COLL_DEADLINE'
  | 'ERR_COLL_DESTINATION'
  | 'ERR_COLL_DEVICE'
  | 'ERR_COLL_DTYPE_MISMATCH'
  | 'ERR_COLL_DUPLICATE_PLUGIN'
  | 'ERR_COLL_INTERNAL'
  | 'ERR_COLL_KEY'
  | 'ERR_COLL_MERGE'
  | 'ERR_COLL_MISMATCH'
  | 'ERR_COLL_MODULE'
  | 'ERR_COLL_NCCL'
  | 'ERR_COLL_NO_ENGINE'
  | 'ERR_COLL_NO_PLUGIN'
  | 'ERR_COLL_NOT_CLONEABLE'
  | 'ERR_COLL_NOT_IMPLEMENTED'
  | 'ERR_COLL_PEER_FAILED'
  | 'ERR_COLL_PLUGIN'
  | 'ERR_COLL_RANGE'
  | 'ERR_COLL_REFUSED'
  | 'ERR_COLL_REPLICA'
  | 'ERR_COLL_SCHEDULE'
  | 'ERR_COLL_SHAPE_MISMATCH'
  | 'ERR_COLL_STORE'
  | 'ERR_COLL_TYPE'
  | 'ERR_COLL_UNKNOWN_PLUGIN'
  | 'ERR_COLL_VALUE';

/** Details of an error besides its message. */
export interface ErrorDetails {
  readonly cause?: unknown;
  /** The rank on which, or because of which, the operation failed. */
  readonly rank?: number | undefined;
  /** The operation, for example `all-reduce` or `reduce`. */
  readonly operation?: string | undefined;
}

const brand = Symbol.for('@coll/core.error');

/** The parent of every error of this project; `instanceof` holds across separately installed copies of the library. */
export class CollError extends Error {
  readonly code: ErrorCode;
  readonly rank?: number;
  readonly operation?: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    if (details.rank !== undefined) this.rank = details.rank;
    if (details.operation !== undefined) this.operation = details.operation;
  }

  // The parent class tests the brand, which also matches other copies of the library. Subclasses
  // use the ordinary instanceof.
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Object.getPrototypeOf(this) === Error) return typeof value === 'object' && value !== null && brand in value;
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/** An invalid argument value, destination or specification. */
export class ValueError extends CollError {}

/** A call in the wrong context or scope, mismatched merge calls, a missing environment. */
export class RuntimeError extends CollError {}

/** A broken internal consistency rule, such as a duplicate device. */
export class AssertionError extends CollError {}

/** An abstract method, or an operation that sparse values do not support. */
export class NotImplementedError extends CollError {}

/** A look-up of a missing or duplicate key. */
export class KeyError extends CollError {}

/** A collective did not complete in time. */
export class DeadlineExceededError extends CollError {}

/** The members of one collective disagree about shape or length. */
export class InvalidArgumentError extends CollError {}

/** The members of one collective disagree about kind, dtype or operation. */
export class InternalError extends CollError {}

/** A peer was lost. */
export class UnavailableError extends CollError {}

/** The caller's `AbortSignal` aborted the operation; `cause` is the signal's reason. */
export class AbortedError extends CollError {}

/** A value of the wrong type; also an instance of the built-in `TypeError`. */
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

/** An index out of range; also an instance of the built-in `RangeError`. */
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

for (const parent of [CollError, WrongTypeError, OutOfRangeError]) {
  Object.defineProperty(parent.prototype, brand, { value: true });
}
