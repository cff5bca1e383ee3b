/** The stable `code` of a `CollError`. Every error of this project is a `CollError`. */
export type ErrorCode =
  | 'ERR_COLL_ABORTED'
  | 'ERR_COLL_API_VERSION'
  | 'ERR_COLL_BUFFER'
  | 'ERR_COLL_BUSY'
  | 'ERR_COLL_CHECKPOINT'
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
  /** See `CollError.ranks`. */
  readonly ranks?: readonly number[] | undefined;
  /** See `CollError.wholeRanks`. */
  readonly wholeRanks?: readonly number[] | undefined;
  /** The operation, for example `all-reduce` or `reduce`. */
  readonly operation?: string | undefined;
}

const brand = Symbol.for('@coll/core.error');

/** Makes the instances of a class instances of `CollError`, in all copies of the library. */
export function brandErrors(parent: { readonly prototype: Error }): void {
  Object.defineProperty(parent.prototype, brand, { value: true });
}

/**
 * The parent of every error of this project. Each error has a stable `code`, a message that says
 * what happened, where, and what to do, and, if known, the rank and the operation. `instanceof
 * CollError` also holds for errors of separately installed copies of the library, and for
 * `WrongTypeError` and `OutOfRangeError`.
 *
 * @example
 * ```ts
 * import { CollError, tensor } from '@coll/core';
 *
 * try {
 *   tensor([1, 2, 3], { shape: [2] });
 * } catch (error) {
 *   console.log(error instanceof CollError && error.code); // ERR_COLL_VALUE
 * }
 * ```
 */
export class CollError extends Error {
  /**
   * Stated in each class, because minifiers rename classes, and errors print the name of their class.
   *
   * @internal
   */
  static override readonly name: string = 'CollError';
  readonly code: ErrorCode;
  readonly rank?: number;
  /**
   * All members that are known to be lost, to have failed or to have left, or that did not arrive in
   * time, in ascending order.
   */
  // Declared only, so that the printed error has no line for it unless it is set.
  declare readonly ranks?: readonly number[];
  /**
   * The same members as in `ranks`, numbered in the whole group, if the group was made by `split`.
   */
  declare readonly wholeRanks?: readonly number[];
  readonly operation?: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    if (details.rank !== undefined) this.rank = details.rank;
    if (details.ranks !== undefined) this.ranks = details.ranks;
    if (details.wholeRanks !== undefined) this.wholeRanks = details.wholeRanks;
    if (details.operation !== undefined) this.operation = details.operation;
  }

  // The parent class tests the brand, which also matches other copies of the library. Subclasses
  // use the ordinary instanceof.
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Object.getPrototypeOf(this) === Error) return typeof value === 'object' && value !== null && brand in value;
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/**
 * An invalid argument, option or setting; also a request that is not supported.
 *
 * @example
 * ```ts
 * import { tensor, ValueError } from '@coll/core';
 *
 * try {
 *   tensor([1, 2, 3], { shape: [2] });
 * } catch (error) {
 *   console.log(error instanceof ValueError); // true
 * }
 * ```
 */
export class ValueError extends CollError {
  /** @internal */
  static override readonly name: string = 'ValueError';
}

/**
 * A call that is not possible now or here: in the wrong context or scope, on something closed or
 * busy, with mismatched merge calls, or in a misconfigured cluster.
 *
 * @example
 * ```ts
 * import { openMembers, RuntimeError } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
 * await member?.close();
 * await member?.barrier().catch((error) => {
 *   console.log(error instanceof RuntimeError, error.code); // true ERR_COLL_CLOSED
 * });
 * ```
 */
export class RuntimeError extends CollError {
  /** @internal */
  static override readonly name: string = 'RuntimeError';
}

/**
 * A broken internal consistency rule, such as a duplicate device.
 *
 * @example
 * ```ts
 * import { AssertionError, validateDestinations } from '@coll/core';
 *
 * try {
 *   validateDestinations(['cpu:0', 'cpu:0']);
 * } catch (error) {
 *   console.log(error instanceof AssertionError); // true
 * }
 * ```
 */
export class AssertionError extends CollError {
  /** @internal */
  static override readonly name: string = 'AssertionError';
}

/**
 * A call of an abstract method, or an operation that sparse values do not support.
 *
 * @example
 * ```ts
 * import { NotImplementedError, PerReplica } from '@coll/core';
 *
 * try {
 *   new PerReplica(['here', 'there']).getCrossReplica();
 * } catch (error) {
 *   console.log(error instanceof NotImplementedError); // true
 * }
 * ```
 */
export class NotImplementedError extends CollError {
  /** @internal */
  static override readonly name: string = 'NotImplementedError';
}

/**
 * A key that is missing, or that occurs more than once.
 *
 * @example
 * ```ts
 * import { KeyError } from '@coll/core';
 * import { ClusterSpec, SimpleClusterResolver, UnionResolver } from '@coll/strategy';
 *
 * const resolvers = ['host1:4000', 'host2:4000'].map(
 *   (address) => new SimpleClusterResolver(new ClusterSpec({ worker: { 1: address } })),
 * );
 * try {
 *   new UnionResolver(resolvers).clusterSpec();
 * } catch (error) {
 *   console.log(error instanceof KeyError); // true
 * }
 * ```
 */
export class KeyError extends CollError {
  /** @internal */
  static override readonly name: string = 'KeyError';
}

/**
 * A collective did not complete in time.
 *
 * @example
 * ```ts
 * import { DeadlineExceededError, openMembers } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const [member] = openMembers({ size: 2, algorithm: directAlgorithm() });
 * await member?.barrier({ timeoutSeconds: 0.01 }).catch((error) => {
 *   console.log(error instanceof DeadlineExceededError); // true
 * });
 * ```
 */
export class DeadlineExceededError extends CollError {
  /** @internal */
  static override readonly name: string = 'DeadlineExceededError';
}

/**
 * The members of one collective disagree about shape or length.
 *
 * @example
 * ```ts
 * import { addN, InvalidArgumentError, tensor } from '@coll/core';
 *
 * try {
 *   addN([tensor([1, 2]), tensor([3])]);
 * } catch (error) {
 *   console.log(error instanceof InvalidArgumentError); // true
 * }
 * ```
 */
export class InvalidArgumentError extends CollError {
  /** @internal */
  static override readonly name: string = 'InvalidArgumentError';
}

/**
 * The members of one collective disagree about kind, dtype or operation.
 *
 * @example
 * ```ts
 * import { InternalError, openMembers } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const [first, second] = openMembers({ size: 2, algorithm: directAlgorithm() });
 * const value = new Float32Array(2);
 * const [outcome] = await Promise.allSettled([
 *   first?.allReduce('sum', value),
 *   second?.allReduce('max', value),
 * ]);
 * console.log(outcome.status === 'rejected' && outcome.reason instanceof InternalError); // true
 * ```
 */
export class InternalError extends CollError {
  /** @internal */
  static override readonly name: string = 'InternalError';
}

/**
 * Another rank failed, exited or cannot be reached, or a store cannot be reached.
 *
 * @example
 * ```ts
 * import { UnavailableError } from '@coll/core';
 *
 * // A run can go on in a new group after another member was lost.
 * const canRestart = (error: unknown) => error instanceof UnavailableError;
 * console.log(canRestart(new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 1 has ended'))); // true
 * ```
 */
export class UnavailableError extends CollError {
  /** @internal */
  static override readonly name: string = 'UnavailableError';
}

/**
 * The caller's `AbortSignal` aborted the operation; `cause` is the signal's reason.
 *
 * @example
 * ```ts
 * import { AbortedError, openMembers } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const [member] = openMembers({ size: 2, algorithm: directAlgorithm() });
 * const signal = AbortSignal.abort('no time');
 * await member?.barrier({ signal }).catch((error) => {
 *   console.log(error instanceof AbortedError, error.cause); // true no time
 * });
 * ```
 */
export class AbortedError extends CollError {
  /** @internal */
  static override readonly name: string = 'AbortedError';
}

brandErrors(CollError);
