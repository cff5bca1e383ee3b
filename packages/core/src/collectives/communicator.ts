import type { SplitPart } from '../members/split.js';
import type { CallOrder, Turn } from '../runtime/call-order.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { CollError } from '../support/errors.js';
import type { DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import type { CallerRequest } from './caller-request.js';
import type { Collective } from './collective.js';

/** How one collective is run. All of it may be left out. */
export interface RunOptions {
  /** Ends the waiting with `AbortedError` and fails the group: its other members are told, and it is not usable any more. */
  readonly signal?: AbortSignal;
  /** Longest time to wait for the others, once the calls before it have ended; then `DeadlineExceededError` names who did not arrive. Absent, null, 0 and less: for ever. */
  readonly timeoutSeconds?: number | null;
  /** Stands for what the buffer is made of, such as the shapes of the tensors in a pack: the ranks must agree on it, too. */
  readonly layout?: number;
  /**
   * The outputs of all ranks may be one memory, which is written once and read-only afterwards. Then `outputs[i]` are the same
   * tensor for all ranks here, and for ranks in other threads views of the same shared memory.
   */
  readonly sharedResult?: boolean;
  /** Compare what all ask for before something plays it that does not compare, as NCCL does not. Default: no. */
  readonly checkCalls?: boolean;
  /** Where the collective is a part of something larger: what the caller asked for, which errors tell of. */
  readonly request?: CallerRequest | undefined;
  /** The turn that the call belongs to: it does not wait for that turn to end. */
  readonly turn?: Turn | undefined;
}

/** One rank's buffer: a tensor, or several of one dtype that count as one buffer, joined in this order. */
export type Segments = Tensor | readonly Tensor[];

/**
 * A group of ranks that carries out collectives. Every member issues the same collectives in the same order.
 *
 * `localRanks` are the ranks whose buffers this caller hands in: all of them (one controller holds every replica's
 * buffer) or one (a worker thread or process among many). `inputs[i]` and `outputs[i]` belong to `localRanks[i]` and
 * may be the same memory; lengths and dtypes are those of `Collective`. Shapes do not matter to a communicator.
 *
 * All-reduce, reduce and broadcast take buffers in segments, cut alike for all ranks and on both sides. `JoiningCommunicator` joins them for
 * engines that need each buffer in one tensor.
 */
export interface Communicator extends AsyncDisposable {
  readonly size: number;
  readonly localRanks: readonly number[];
  /** Shared by all communicators of these ranks. */
  readonly group: Group;

  /** Why this communicator cannot run such a collective, in words for the user; undefined when it can. */
  refuses(collective: Collective, dtype: DType): string | undefined;

  /**
   * @throws ValueError, before any byte moves, for buffers of the wrong number, length or dtype, detached or overlapping;
   * InvalidArgumentError or InternalError, the same on every rank, where the ranks disagree about length, or about kind,
   * op or dtype; UnavailableError where a peer fails, RuntimeError (ERR_COLL_CLOSED) where one leaves; DeadlineExceededError; AbortedError.
   *
   * It may be called while earlier collectives are under way: a rank's run one after the other, in the order of the calls.
   */
  run(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): Promise<void>;

  /** The same, blocking the calling thread, which must not be the one that its peers need to make progress. */
  runSync(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): void;

  /** Leaves the group. Calls made from now on are refused; peers that wait for this rank are told. May be called again. */
  close(): Promise<void>;
}

/** What all communicators of the same ranks share: the order of their calls, their failure and their memory. */
export interface Group {
  readonly order: CallOrder;
  /** The first failure of the group. Undefined while it works. */
  readonly failure: CollError | undefined;
  /**
   * Ends the group for all members because of an error outside of it. Collectives under way and later ones fail with an
   * error of the same class, code and `rank`. Only the first failure of a group counts. @throws ValueError unless it is a CollError
   */
  fail(error: CollError): void;
  /**
   * Memory that the engine uses without a copy, or ordinary memory if the engine has none of its own. Valid until the group is closed.
   * @throws ValueError for an unknown dtype or a bad length; CollError if the memory of the group is full
   */
  allocate<D extends DType>(dtype: D, length: number): Tensor<D>;
  /** A communicator of the same ranks that runs another algorithm. */
  communicator(algorithm: Algorithm): Communicator;
  /**
   * Makes a group of the ranks of each color, with an order of its own; all ranks of this group call it with the same `parts`, in rank order.
   * The result has an entry for each local rank, which is undefined for one with a negative color. Ranks of one color that are here share an entry's
   * communicator.
   * @throws ValueError (ERR_COLL_REFUSED) if the engine makes no sub-groups
   */
  split(
    parts: readonly SplitPart[],
    algorithm: Algorithm,
    options: RunOptions,
  ): Promise<readonly (SubGroup | undefined)[]>;
  /**
   * Sends a tensor from the local rank `rank` to rank `to`. Messages are counted for each pair of ranks; they take no turn.
   * @throws ValueError (ERR_COLL_REFUSED) if the engine has no messages
   */
  send(rank: number, to: number, value: Tensor, options?: RunOptions): Promise<void>;
  /** Receives the next tensor of rank `from` at the local rank `rank`. @throws as `send` */
  receive(rank: number, from: number, into: Tensor, options?: RunOptions): Promise<void>;
}

/** A group that was split from another one. */
export interface SubGroup {
  readonly communicator: Communicator;
  /** Leaves the group. */
  close(): Promise<void>;
}
