import { type Collective, type DType, type Group, type RunOptions, type Tensor, ValueError, zeros } from '@coll/core';
import {
  knownOptions,
  longestTimer,
  optionsOf,
  type RecordedCommunicator,
  type Refusals,
  recordedCommunicator,
  recordedGroup,
  recorder,
  recordFailure,
  refusedMessages,
  requireCollError,
  requireRunOptions,
} from '@coll/core/internal';
import {
  abortedError,
  byteSize,
  CallOrder,
  closedError,
  JoiningCommunicator,
  nameOf,
  refusedCollective,
  refusedError,
  validateBuffers,
} from '@coll/core/plugin';
import { openRecord } from '@coll/native/record';
import { refusedIn } from './agreement.js';
import type { Clique, Submission } from './clique.js';
import { type Exchange, type JoinRequest, join, joinBy, openLocal } from './connect.js';
import { isOnGpu } from './device-buffer.js';
import { refusedByNccl } from './element-types.js';
import { blocksNoThread, errorFor } from './failures.js';
import { leftBehind } from './gpu-memory.js';
import { lengthOf, lengthOfCall, sampleOf, validateOperands } from './operands.js';
import { type Passage, pass, passTogether } from './passage.js';
import { ScratchMemory } from './scratch-memory.js';
import { refuseSharing } from './sharing.js';

/** Options of a communicator, all of them optional. */
export interface NcclOptions {
  /**
   * Timeout in seconds for calls that set no timeout. 0 means no limit. Default: 600.
   */
  readonly defaultTimeoutSeconds?: number | undefined;
  /**
   * Name of the group in error messages, the flight recorder and NCCL's logs, if all ranks are in
   * one process. Default: `local`.
   */
  readonly name?: string | undefined;
  /**
   * Whether a call blocks NCCL's native thread until the call has begun on the GPU. Blocking saves a
   * few microseconds per call. NCCL guarantees only for non-blocking communicators that calls which
   * wait for a rank can be aborted. Default: true if all ranks are in this process, because then no
   * rank can be lost.
   */
  readonly blocking?: boolean | undefined;
}

const ncclOptions = knownOptions<NcclOptions>('NcclCommunicator', {
  defaultTimeoutSeconds: true,
  name: true,
  blocking: true,
});

/** Options of `split`. */
export interface SplitOptions {
  /**
   * Whether the new groups use connections and buffers of the original group; must be equal on all
   * ranks. Default: false.
   */
  readonly share?: boolean | undefined;
}

const splitOptions = knownOptions<SplitOptions>('split', { share: true });

/** One of the groups that result from `split`: the ranks with the same color. */
export interface SplitGroup {
  readonly color: number;
  readonly communicator: NcclCommunicator;
}

const usualTimeoutSeconds = 600;
const largestKey = 2 ** 31 - 1;

/**
 * A group of ranks with one GPU each, in one process or several, whose collectives NCCL executes.
 * Tensors in GPU memory are used in place; host tensors are copied to the rank's GPU and back. Has
 * no synchronous calls.
 *
 * All ranks must issue the same collectives in the same order, across all communicators of the same
 * GPUs, because NCCL does not check the order. NCCL sums half types, and may round more than once;
 * a mean is NCCL's sum followed by one division.
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { gpus, NcclCommunicator } from '@coll/nccl';
 *
 * const devices = gpus().map(({ name }) => name);
 * const communicator = await NcclCommunicator.open(devices);
 * const buffers = devices.map((device) => tensor(new Float32Array([1, 2]), { device }));
 * await communicator.run({ kind: 'all-reduce', op: 'max' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(2) [ 1, 2 ]
 * await communicator.close();
 * ```
 */
export class NcclCommunicator extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  /** The GPU of each local rank. */
  readonly devices: readonly string[];
  readonly group: Group;
  readonly #clique: Clique;
  readonly #recorded: RecordedCommunicator | undefined;
  readonly #scratch = new ScratchMemory();
  readonly #timeoutSeconds: number;
  #turn: Promise<void> = Promise.resolve();

  private constructor(clique: Clique, { defaultTimeoutSeconds = usualTimeoutSeconds }: NcclOptions) {
    super();
    openRecord();
    const { size, ranks, devices } = clique.members;
    this.size = size;
    this.localRanks = ranks;
    this.devices = devices.map((index) => `gpu:${index}`);
    this.#clique = clique;
    this.group = groupOf(clique);
    this.#recorded = recordedCommunicator(this.group, 'NCCL', 'exact');
    recorder?.note({ kind: 'opened', text: `${ranks.length} of ${size} ranks`, group: this.group.recorded });
    this.#timeoutSeconds = defaultTimeoutSeconds;
    const message = `the communicator ${clique.members.name} was not closed: use "await using", or call close()`;
    leftBehind.register(this, message, this);
  }

  /**
   * Opens a group of this process's GPUs, one rank per GPU.
   * @throws ValueError for a GPU that this process does not have, or that is listed twice;
   * CollError if there is no NCCL
   */
  static async open(devices: readonly string[], options?: NcclOptions): Promise<NcclCommunicator> {
    const given = optionsOf(options, "{ name: 'local' }", ncclOptions);
    return new NcclCommunicator(await openLocal(devices, given.name ?? 'local', openingOf(given)), given);
  }

  /**
   * Joins a group of processes, which find each other through a store of `@coll/rendezvous`.
   * @throws DeadlineExceededError that names the processes that did not arrive; UnavailableError
   * that names a lost process; CollError if NCCL is missing, or its release differs between
   * processes
   */
  static async connect(request: JoinRequest, options?: NcclOptions): Promise<NcclCommunicator> {
    const given = optionsOf(options, '{ defaultTimeoutSeconds: 60 }', ncclOptions);
    return new NcclCommunicator(await join(request, given.blocking), given);
  }

  /**
   * Joins a group of processes. Each process publishes the data for joining by `exchange`. `signal`
   * aborts the wait for the other processes.
   */
  static async joinBy(
    exchange: Exchange,
    rank: number,
    devices: readonly string[],
    options?: NcclOptions,
    signal?: AbortSignal,
  ): Promise<NcclCommunicator> {
    const given = optionsOf(options, '{ defaultTimeoutSeconds: 60 }', ncclOptions);
    return new NcclCommunicator(await joinBy(exchange, rank, devices, { ...openingOf(given), signal }), given);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return refusedCollective(collective, dtype, this.size) ?? refusedByNccl(collective, dtype);
  }

  protected async runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions = {},
  ): Promise<void> {
    const operation = nameOf(collective);
    const passage = { collective, inputs, outputs };
    await this.#run(operation, [passage], options, (submission) =>
      pass(this.#clique, this.#scratch, passage, submission),
    );
  }

  /**
   * Executes several collectives as one group call, which NCCL runs concurrently.
   * @throws the errors of `run`; ValueError if a collective uses memory that another collective of
   * the call writes
   */
  async runTogether(passages: readonly Passage[], options: RunOptions = {}): Promise<void> {
    requireRunOptions(options);
    const [first] = passages;
    if (!first) return;
    const others = passages.length > 1 ? ` and ${passages.length - 1} more` : '';
    await this.#run(`${nameOf(first.collective)}${others}`, passages, options, (submission) =>
      passTogether(this.#clique, this.#scratch, passages, submission),
    );
  }

  protected runWholeSync(collective: Collective): never {
    throw blocksNoThread(collective);
  }

  /**
   * Creates one group per color from the ranks with this color, ordered by key. Default of `keys`:
   * the ranks themselves. Pass one color and one key per local rank; a rank with a negative color
   * joins no group. All ranks must call `split`, like a collective. A group and its split groups
   * fail together.
   */
  async split(
    colors: readonly number[],
    keys: readonly number[] = this.localRanks,
    options?: SplitOptions,
  ): Promise<readonly SplitGroup[]> {
    const { share = false } = optionsOf(options, '{ share: true }', splitOptions);
    if (this.#clique.isClosed) throw closedError({ operation: 'split' });
    if (colors.length !== this.localRanks.length || keys.length !== this.localRanks.length) {
      const message = `${colors.length} colors and ${keys.length} keys for ${this.localRanks.length} local ranks`;
      throw new ValueError('ERR_COLL_VALUE', `split: ${message}; pass one color and one key per rank`, {
        operation: 'split',
      });
    }
    const odd = [...colors, ...keys].find((number) => !Number.isInteger(number) || Math.abs(number) > largestKey);
    if (odd !== undefined) {
      const message = `colors and keys must be 32-bit integers, got ${odd}`;
      throw new ValueError('ERR_COLL_VALUE', `split: ${message}`, { operation: 'split' });
    }
    const timeoutMillis = millisOf(this.#timeoutSeconds);
    const parts = await this.#clique.split({ colors, keys, isSharing: share, timeoutMillis });
    const own = { defaultTimeoutSeconds: this.#timeoutSeconds };
    return parts.map(({ color, clique }) => ({ color, communicator: new NcclCommunicator(clique, own) }));
  }

  async close(): Promise<void> {
    leftBehind.unregister(this);
    recorder?.note({ kind: 'closed', text: '', group: this.group.recorded });
    await this.#clique.close();
    this.#scratch.free();
  }

  async #run(
    operation: string,
    passages: readonly Passage[],
    options: RunOptions,
    execute: (submission: Submission) => Promise<void>,
  ): Promise<void> {
    try {
      this.#check(operation, passages, options);
    } catch (error) {
      throw this.refused(error);
    }
    const { signal, timeoutSeconds, turn } = options;
    const { refusals } = turn ?? this.group.order;
    const timeoutMillis = millisOf(timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds : this.#timeoutSeconds);
    const recorded = passages.map((passage) => this.#record(passage));
    const abort = () => void this.#clique.fail(abortedError('while it was under way', signal, { operation }));
    signal?.addEventListener('abort', abort);
    try {
      const submission = { operation, timeoutMillis };
      if (this.#clique.members.checkCalls) await this.#agreed(passages, refusals, submission, signal);
      await execute(submission);
      for (const number of recorded) recorder?.end(number, true);
    } catch (error) {
      const failure = errorFor(error, { operation });
      for (const number of recorded) recorder?.end(number, false, failure);
      recordFailure(this.group.recorded, failure);
      throw failure;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Records a collective that begins. Returns its number in the recorder. */
  #record({ collective, inputs, outputs }: Passage): number {
    if (!recorder || !this.#recorded) return 0;
    const buffers = [inputs.map(recordedBuffer), outputs.map(recordedBuffer)] as const;
    const bytes = buffers.map((list) => list.reduce((sum, { byteLength }) => sum + byteLength, 0));
    const call = { collective, request: undefined, bytes: Math.max(...bytes), inputs: buffers[0], outputs: buffers[1] };
    const number = recorder.begin(this.#recorded, call, false);
    recorder.leave(number);
    return number;
  }

  #check(operation: string, passages: readonly Passage[], { signal, sharedResult = false }: RunOptions): void {
    if (this.#clique.isClosed) throw closedError({ operation });
    if (signal?.aborted) throw abortedError('before it began', signal, { operation });
    for (const { collective, inputs, outputs } of passages) {
      this.#validate(collective, inputs, outputs, sharedResult);
      const refused = this.refuses(collective, this.#sample(collective, inputs, outputs).dtype);
      if (refused !== undefined) throw refusedError(refused, { operation });
    }
    if (passages.length > 1) refuseSharing(operation, this.localRanks, passages);
  }

  /**
   * Compares a call's request with the requests of the other processes, in the order of the calls.
   */
  #agreed(
    passages: readonly Passage[],
    refusals: Refusals,
    submission: Submission,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const [{ collective, inputs, outputs }] = passages as readonly [Passage];
    const { dtype } = this.#sample(collective, inputs, outputs);
    const { size, localRanks: ranks } = this;
    const length = passages.reduce((sum, passage) => sum + lengthOfCall(passage, { size, ranks }), 0);
    const { operation } = submission;
    const request = { operation, dtype, length, ...refusedIn(refusals) };
    const agreed = this.#turn.then(() => this.#clique.agree(request, submission, signal));
    this.#turn = agreed.catch(() => undefined);
    return agreed;
  }

  #validate(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    sharedResult: boolean,
  ): void {
    const { size, localRanks } = this;
    const isOnHost = ![...inputs, ...outputs].some(isOnGpu);
    const isComplete = inputs.length === localRanks.length && outputs.length === localRanks.length;
    if (isOnHost || !isComplete) validateBuffers({ collective, size, localRanks, sharedResult }, inputs, outputs);
    else validateOperands(collective, this, inputs, outputs);
  }

  #sample(collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[]): Tensor {
    return sampleOf(collective, this.localRanks, inputs, outputs);
  }
}

/**
 * The ranks of one NCCL communicator as a `Group` of `@coll/core`. `communicator` throws, because
 * NCCL chooses its algorithms itself; `allocate` returns ordinary memory.
 */
function groupOf(clique: Clique): Group {
  const { recordId: id, parentId: parent, ranks, size } = clique.members;
  const [first = 0] = ranks;
  const rank = ranks.length === size ? -1 : first;
  return {
    recorded: recordedGroup({ id, parent, kind: 'GPUs', engine: 'NCCL', transport: 'nccl', size, rank }),
    order: new CallOrder(),
    get failure() {
      return clique.failure;
    },
    fail(error) {
      requireCollError(error);
      void clique.fail(error);
    },
    allocate: (dtype, length) => zeros(dtype, [length]),
    communicator() {
      throw refusedError('NCCL chooses its algorithms itself, so that no algorithm can be passed', {
        operation: 'communicator',
      });
    },
    ...refusedMessages('NCCL'),
  };
}

function openingOf({ defaultTimeoutSeconds = usualTimeoutSeconds, blocking }: NcclOptions) {
  return { timeoutMillis: millisOf(defaultTimeoutSeconds), blocking };
}

function recordedBuffer(tensor: Tensor) {
  return { dtype: tensor.dtype, byteLength: byteSize(tensor.dtype) * lengthOf(tensor) };
}

function millisOf(seconds: number): number {
  // The addon treats the longest timeout as no limit.
  return seconds > 0 ? Math.min(Math.ceil(seconds * 1000), longestTimer) : longestTimer;
}
