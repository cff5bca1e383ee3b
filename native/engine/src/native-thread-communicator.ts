import {
  type CollError,
  type Collective,
  type DType,
  InternalError,
  type JoinRequest,
  type RunOptions,
  type ThreadGroup,
  ValueError,
} from '@coll/core';
import {
  Arena,
  attended,
  Descriptors,
  nextTurn,
  oneRank,
  recordedCommunicator,
  SharedBarrier,
  type ThreadEngine,
  ThreadRank,
  type Wait,
  waitOf,
} from '@coll/core/internal';
import {
  type CheckedCall,
  clashError,
  lostBufferError,
  lostRank,
  OrderedCommunicator,
  operationOf,
  type PreparedCall,
} from '@coll/core/plugin';
import type { MemberHandle } from './handles.js';
import { availableCores } from './machine/index.js';
import { type NativeBinding, status, waiting } from './native-binding.js';
import { type Offer, Offers } from './offers.js';
import { noMessages, Programs } from './programs.js';
import { SpareHandles } from './spare-handles.js';
import { laterTurn } from './turns.js';

type Call = PreparedCall<Offer>;

// A rank that waits inside native code for a rank of the same thread would wait forever.
const joined = new WeakMap<SharedArrayBuffer, number>();

/**
 * One rank of a group of threads, executed in C++. Every rank folds its share of all ranks'
 * buffers, wherever they are in memory. The calling thread does the work. An asynchronous call that
 * has to wait, or takes more than a millisecond, yields to the event loop in between.
 */
export class NativeThreadCommunicator extends OrderedCommunicator<Offer> {
  readonly group: ThreadRank;
  readonly #binding: NativeBinding;
  readonly #rank: number;
  readonly #member: MemberHandle;
  // Kept alive because native code holds their addresses.
  readonly #memory: readonly [board: Uint8Array, failure: Int32Array, arrival: Int32Array];
  readonly #barrier: SharedBarrier;
  readonly #descriptors: Descriptors;
  readonly #said: Float64Array;
  readonly #programs: Programs;
  readonly #offers: Offers;
  readonly #spares = new SpareHandles<Offer>();
  #described: Offer | undefined;

  /** @throws ValueError for a rank outside the group, or a group of another engine */
  constructor(
    binding: NativeBinding,
    engine: ThreadEngine,
    threads: ThreadGroup,
    { rank, algorithm }: JoinRequest,
    group?: ThreadRank,
  ) {
    const { size, board, control, thresholds, whole } = threads;
    super(size, oneRank(rank, size));
    if (!board || !thresholds)
      throw new ValueError(
        'ERR_COLL_VALUE',
        `this group was created by the ${threads.engine} engine; join it with the same engine`,
      );
    requireOwnThread(board, rank);
    this.#binding = binding;
    this.#rank = rank;
    this.#barrier = new SharedBarrier(control, size, 0, whole);
    this.#descriptors = new Descriptors(threads.descriptors, size);
    this.#said = this.#descriptors.announcedBy(rank);
    this.#programs = new Programs(binding, algorithm, size, noMessages);
    this.#offers = new Offers(binding, this.#programs, rank);
    this.#memory = [new Uint8Array(board), this.#barrier.state, this.#barrier.arrivalOf(rank)];
    this.#member = binding.join(...this.#memory, rank, size, availableCores(), thresholds);
    this.group =
      group ??
      new ThreadRank({
        rank,
        threads,
        engine,
        barrier: this.#barrier,
        arena: new Arena(threads.arena),
        communicator: (other, own) =>
          new NativeThreadCommunicator(binding, engine, threads, { rank, algorithm: other }, own),
      });
    this.recorded = recordedCommunicator(this.group, algorithm.name, 'engine');
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#programs.refuses(collective, dtype);
  }

  protected prepare(call: CheckedCall, isKept: boolean): Offer {
    return this.#offers.make(call, isKept ? undefined : this.#spares.take());
  }

  protected override recycle(offer: Offer): void {
    this.#spares.add(offer);
  }

  /** Executes one collective, blocking the calling thread. */
  protected executeSync(call: Call, options: RunOptions): void {
    this.#describe(call);
    const { handle } = call.handle;
    let answer = this.#binding.execute(this.#member, handle, waiting.blocking);
    if (answer === status.done) return;
    const wait = waitOf(this.#rank, operationOf(call), options);
    for (; answer !== status.done; answer = this.#binding.execute(this.#member, handle, waiting.blocking)) {
      if (answer === status.notify) this.#barrier.wake(this.#rank);
      else if (answer === status.waiting) this.#lookAfter(wait);
      else this.#fail(answer, call);
    }
  }

  protected override execute(call: Call, options: RunOptions): Promise<void> | undefined {
    this.#describe(call);
    const answer = this.#binding.execute(this.#member, call.handle.handle, waiting.brief);
    return answer === status.done ? undefined : this.#goOn(answer, call, options);
  }

  protected override executeLater(call: Call, options: RunOptions): Promise<void> {
    return this.#goOn(undefined, call, options);
  }

  /** Leaves the group: other ranks that wait for this rank from now on fail. */
  protected override release(): void {
    joined.delete(this.#memory[0].buffer as SharedArrayBuffer);
    this.#barrier.leave(this.#rank);
    this.group.close();
  }

  /**
   * Writes this rank's request, which other ranks read if the requests differ. Does nothing if the
   * call is the one that was written last.
   * @throws the failure of a group whose members may still read the previous request
   */
  #describe(call: Call): void {
    const offer = call.handle;
    if (this.#described === offer) return;
    if (this.#barrier.hasFailed) throw this.#barrier.failureMet(operationOf(call));
    this.#said.set(offer.said);
    this.#described = offer;
  }

  /**
   * Continues a collective that has not finished. `first` is the latest status from native code;
   * undefined if native code was not called yet.
   */
  #goOn(first: number | undefined, call: Call, options: RunOptions): Promise<void> {
    const wait = waitOf(this.#rank, operationOf(call), options);
    return attended(this.#barrier, wait, options.signal, async () => {
      try {
        let looks = 0;
        if (first === undefined) this.#describe(call);
        for (let answer = first; answer !== status.done; answer = this.#advance(call, wait.operation, looks)) {
          if (answer === status.notify) this.#barrier.wake(this.#rank);
          else if (answer === status.slice) await nextTurn();
          else if (answer === status.waiting) await this.#waitFor(wait, looks++);
          else if (answer !== undefined) this.#fail(answer, call);
        }
      } catch (error) {
        this.#binding.abandon(this.#member);
        throw error;
      }
    });
  }

  /**
   * Calls native code again to continue a call after other code may have run.
   * @throws ValueError if memory of the call was transferred to another thread in the meantime
   */
  #advance(call: Call, operation: string, looks: number): number {
    const length = looks === 0 ? waiting.brief : waiting.patient;
    if (lostRank(call, 1) === undefined) return this.#binding.execute(this.#member, call.handle.handle, length);
    const error = lostBufferError(operation, this.#rank);
    this.#barrier.failFor(error, this.#rank);
    throw error;
  }

  /**
   * Waits until all ranks have arrived. When the promise resolves, some of them may already be busy
   * with other work.
   */
  async #waitFor(wait: Wait, look: number): Promise<void> {
    await this.#barrier.wait(this.#binding.meeting(this.#member), wait);
    this.#lookAfter(wait);
    if (look > 0) await laterTurn(look);
  }

  /**
   * Checks whether a rank is still missing. Returns normally if none is missing, or if the
   * collective may wait longer.
   * @throws the group's failure; DeadlineExceededError after the deadline
   */
  #lookAfter({ rank, operation, deadline }: Wait): void {
    // Check the failure first: a rank that fails the group because of the offers of this
    // synchronization has reached it, and so has every other rank.
    const { hasFailed } = this.#barrier;
    const isLate = deadline !== undefined && Date.now() >= deadline;
    if (!hasFailed && !isLate) return;
    const others = Array.from({ length: this.size }, (_, other) => other).filter((other) => other !== rank);
    const absent = others.filter((other) => this.#binding.isMissing(this.#member, other));
    if (absent.length === 0) return;
    if (!hasFailed) {
      const meeting = this.#binding.meeting(this.#member);
      const missing = absent.filter((other) => ((this.#barrier.count(other) - meeting) | 0) < 0);
      if (missing.length > 0) this.#barrier.expire(rank, missing, 'did not arrive');
      else this.#barrier.expire(rank, absent, 'arrived, but is busy');
    }
    this.#binding.abandon(this.#member);
    throw this.#barrier.failureMet(operation);
  }

  /** @throws the error for `answer`, a status that native code returns for a failed call */
  #fail(answer: number, call: Call): never {
    const operation = operationOf(call);
    const failure = answer === status.failed ? this.#barrier.failureMet(operation) : this.#disagreement(answer, call);
    const error =
      failure ??
      new InternalError(
        'ERR_COLL_INTERNAL',
        `${operation}: internal error: the engine returned the unknown status ${answer}`,
      );
    if (answer !== status.failed) this.#barrier.failFor(error, this.#rank);
    throw error;
  }

  #disagreement(answer: number, call: Call): CollError | undefined {
    const mismatch = this.#descriptors.mismatch(call.request?.ranks ?? this.#barrier.names);
    if (mismatch || answer !== status.clashed) return mismatch;
    const clash = this.#binding.clash(this.#member);
    return clash && clashError(operationOf(call), ...clash);
  }
}

/** @throws ValueError if another rank of the group has already joined in this thread */
function requireOwnThread(board: SharedArrayBuffer, rank: number): void {
  const other = joined.get(board);
  if (other !== undefined && other !== rank) {
    const message = `rank ${rank} must join from another thread than rank ${other}: a native call blocks its thread until all ranks arrive, so two ranks in one thread would deadlock`;
    const advice =
      'join each rank in its own thread, or use native.communicator(size, algorithm), which takes the buffers of all ranks at once';
    throw new ValueError('ERR_COLL_VALUE', `${message}; ${advice}`, { rank });
  }
  joined.set(board, rank);
}
