import type { CallerRequest } from '../collectives/caller-request.js';
import type { Collective } from '../collectives/collective.js';
import type { RecordedGroup } from '../record/recorder-hook.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import type { DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import type { CallOrder, Turn } from './call-order.js';

/** Options of one collective, all optional. */
export interface RunOptions {
  /**
   * Aborts the wait with `AbortedError` and fails the whole group: the other members are notified,
   * and the group becomes unusable.
   */
  readonly signal?: AbortSignal;
  /**
   * Seconds to wait for the other ranks, counted from the end of earlier calls. After that,
   * `DeadlineExceededError` names the ranks that did not arrive. Undefined, null and ≤ 0 mean no
   * limit.
   */
  readonly timeoutSeconds?: number | null;
  /**
   * Hash of the buffer's composition, such as the shapes of a pack's tensors. Must be equal on all
   * ranks; otherwise the call fails.
   */
  readonly layout?: number;
  /**
   * How many values the caller's list or structure has, as `valuesIn` counts them, for the error of
   * ranks that differ in `layout`. Default: 0, a single value.
   */
  readonly valueCount?: number;
  /**
   * The parts of the caller's values that each buffer of an all-reduce or broadcast consists of, in
   * the order of the buffer; the same for inputs and outputs. Undefined: the buffer holds no values
   * of a caller, or the caller has called the communicator itself.
   */
  readonly values?: readonly ValuePart[];
  /**
   * Allows the outputs of all ranks to be one memory, which is written once and read-only
   * afterwards. `outputs[i]` is then the same tensor for all local ranks, and a view of the same
   * shared memory in other threads.
   */
  readonly sharedResult?: boolean;
  /**
   * Whether ranks compare their calls before an engine that does not check them, such as NCCL, runs
   * them. Default: false.
   */
  readonly checkCalls?: boolean;
  /** The caller's request, if the collective is a part of a larger one. Errors name the request. */
  readonly request?: CallerRequest | undefined;
  /**
   * The turn (a place in the group's call order) that the call is a part of. The call does not wait
   * for this turn to end.
   */
  readonly turn?: Turn | undefined;
}

/**
 * Consecutive elements of one of a caller's values, within a buffer that may hold parts of several
 * values. A value that is packed into several buffers has a part in each.
 */
export interface ValuePart {
  /** The value's name in the call option `names`; without names, its index in the caller's list or structure. */
  readonly id: string | number;
  /** Index of the part's first element within the value. */
  readonly begin: number;
  /** Index of the part's first element within the buffer, whose segments count as one. */
  readonly offset: number;
  readonly length: number;
}

/** One rank's buffer: a tensor, or several of one dtype that count as one buffer in this order. */
export type Segments = Tensor | readonly Tensor[];

/**
 * A group of ranks that runs collectives. Every member issues the same collectives in the same
 * order.
 *
 * `localRanks` are the ranks whose buffers this caller passes: all ranks for a single controller,
 * one rank for a worker thread or process. `inputs[i]` and `outputs[i]` belong to `localRanks[i]`
 * and may be the same memory. Lengths and dtypes are those of `Collective`; shapes are ignored.
 *
 * All-reduce, reduce and broadcast accept segmented buffers. All ranks, inputs and outputs must use
 * the same segment lengths. `JoiningCommunicator` joins segments for engines that need each buffer
 * in one tensor.
 */
export interface Communicator extends AsyncDisposable {
  readonly size: number;
  readonly localRanks: readonly number[];
  /** The group, shared by all communicators of the same ranks. */
  readonly group: Group;

  /** The reason, for the user, why this communicator cannot run the collective; undefined if it can. */
  refuses(collective: Collective, dtype: DType): string | undefined;

  /**
   * Runs one collective. May be called while earlier ones are under way: the collectives of a rank
   * run one after the other, in call order.
   * @throws ValueError, before any byte moves, for buffers of the wrong number, length or dtype,
   * detached or overlapping; InvalidArgumentError, the same on every rank, if the ranks disagree
   * about the length; InternalError, also the same on every rank, if the ranks disagree about kind,
   * op or dtype; UnavailableError if a peer fails; RuntimeError (ERR_COLL_CLOSED) if a peer leaves;
   * DeadlineExceededError; AbortedError.
   */
  run(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): Promise<void>;

  /**
   * Like `run`, but blocks the calling thread. Peers must not need this thread to make progress.
   * @throws as `run`, and RuntimeError (ERR_COLL_BUSY) while an asynchronous call is under way
   */
  runSync(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): void;

  /**
   * Checks and prepares a collective that will be repeated on the same memory with the same options.
   * Undefined, or without this method: the communicator has nothing to prepare, call `run`.
   * @throws as `run`
   */
  persistent?(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): PersistentCollective | undefined;

  /** Leaves the group. Later calls are refused, and peers waiting for this rank are notified. Idempotent. */
  close(): Promise<void>;
}

/** A collective on certain memory, prepared for repeated calls, as a persistent collective of MPI is. */
export interface PersistentCollective {
  /** Runs the collective once, as `Communicator.run`. */
  run(): Promise<void>;
  /** Runs the collective once, as `Communicator.runSync`. */
  runSync(): void;
}

/** What all communicators of the same ranks share: the order of their calls, their failure and their memory. */
export interface Group {
  readonly order: CallOrder;
  /** The group in the records of its local rank. Default: the calls of the group are not recorded. */
  readonly recorded?: RecordedGroup | undefined;
  /** The first failure of the group. Undefined while the group works. */
  readonly failure: CollError | undefined;
  /**
   * Ends the group for all members because of an external error. Current and later collectives fail
   * with an error of the same class, code and `rank` if the code is one of the failure model, and
   * with `UnavailableError` (ERR_COLL_PEER_FAILED) otherwise. Only the first failure of a group counts.
   * @throws ValueError unless it is a CollError
   */
  fail(error: CollError): void;
  /**
   * Called if this group is a level of a larger one, with the number of ranks of that one: its
   * failures may then name these ranks, as in `Failure`.
   */
  enclose?(ranks: number): void;
  /**
   * Memory that the engine uses without a copy, or ordinary memory if the engine needs no special
   * memory. Valid until the group is closed.
   * @throws ValueError for an unknown dtype or an invalid length; CollError if the memory of the
   * group is full
   */
  allocate<D extends DType>(dtype: D, length: number): Tensor<D>;
  /** A communicator of the same ranks that runs another algorithm. */
  communicator(algorithm: Algorithm): Communicator;
  /**
   * Makes one group per color, each with its own call order. All ranks of this group must pass the
   * same `parts`, in rank order. The result has one entry per local rank: undefined for a negative
   * color. Local ranks of the same color share one communicator.
   * @throws ValueError (ERR_COLL_REFUSED) if the engine does not support sub-groups
   */
  split(
    parts: readonly SplitPart[],
    algorithm: Algorithm,
    options: RunOptions,
  ): Promise<readonly (SubGroup | undefined)[]>;
  /**
   * Sends a tensor from the local rank `rank` to rank `to`. Messages between two ranks arrive in
   * the order sent, and do not wait for collectives.
   * @throws ValueError (ERR_COLL_REFUSED) if the engine does not support messages
   */
  send(rank: number, to: number, value: Tensor, options?: RunOptions): Promise<void>;
  /** Receives the next tensor from rank `from` at the local rank `rank`. @throws as `send` */
  receive(rank: number, from: number, into: Tensor, options?: RunOptions): Promise<void>;
  /**
   * Counts a message that the local rank `rank` has refused with `error` to send to `peer`, or to
   * receive from it. The group fails if the peer makes its call for this message. Default: such
   * messages do not count.
   */
  refuseMessage?(rank: number, call: 'send' | 'receive', peer: number, error: unknown): void;
}

/** The color and key of a rank in a split. */
export interface SplitPart {
  /** Ranks of the same color join the same new group; a rank with a negative color joins none. */
  readonly color: number;
  /** Orders the ranks of a color; equal keys are ordered by old rank. */
  readonly key: number;
}

/** A group made by splitting another one. */
export interface SubGroup {
  readonly communicator: Communicator;
  /** Leaves the group. */
  close(): Promise<void>;
}

/** @throws ValueError unless `value` is a communicator; `what` names the value in the message */
export function requireCommunicator(value: unknown, what: string): asserts value is Communicator {
  const { size, localRanks, refuses, run } = Object(value) as Partial<Communicator>;
  const isWhole = Number.isInteger(size) && typeof refuses === 'function' && typeof run === 'function';
  if (isWhole && Array.isArray(localRanks)) return;
  throw new ValueError('ERR_COLL_VALUE', `${what} must be a communicator, got ${quote(value)}`);
}
