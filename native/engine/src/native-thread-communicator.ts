import { availableParallelism } from 'node:os';
import {
  AbortedError,
  type CollError,
  type Collective,
  type Communicator,
  type DType,
  InternalError,
  type JoinRequest,
  nameOf,
  type RunOptions,
  RuntimeError,
  type Tensor,
  type ThreadGroup,
  ValueError,
} from '@coll/core';
import { Arena, Descriptors, type KnownCall, lostRank, type Pieces, Rendezvous, type Wait } from '@coll/core/executor';
import { lostBuffer } from './lost-buffer.js';
import { type MemberHandle, type NativeBinding, status, waiting } from './native-binding.js';
import { type Offer, Offers } from './offers.js';
import { Programs } from './programs.js';
import { laterTurn, nextTurn, settled } from './turns.js';

type Call = KnownCall<Offer>;

const noOptions: RunOptions = {};

// Who waits inside native code for a rank of the same thread waits for ever.
const joined = new WeakMap<SharedArrayBuffer, number>();

/**
 * One rank of a group of threads, played in C++: every rank works off its share of all ranks' buffers, wherever in memory these
 * are. The calling thread does the work; an asynchronous call that has to wait, or that takes more than a
 * millisecond, lets the event loop run in between.
 */
export class NativeThreadCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #binding: NativeBinding;
  readonly #rank: number;
  readonly #member: MemberHandle;
  // Native code keeps the addresses of these.
  readonly #memory: readonly [board: Uint8Array, failure: Int32Array, arrival: Int32Array];
  readonly #rendezvous: Rendezvous;
  readonly #descriptors: Descriptors;
  readonly #arena: Arena;
  readonly #programs: Programs;
  readonly #offers: Offers;
  #described: Offer | undefined;
  #tail: Promise<void> | undefined;
  #isClosed = false;

  /** @throws ValueError for a rank outside the group, or a group of another engine */
  constructor(binding: NativeBinding, group: ThreadGroup, { rank, algorithm }: JoinRequest) {
    const { size, board, control } = group;
    if (!(Number.isInteger(rank) && rank >= 0 && rank < size))
      throw new ValueError('ERR_COLL_VALUE', `rank ${rank} is not one of ${size}`);
    if (!board)
      throw new ValueError(
        'ERR_COLL_VALUE',
        `this group was made by the ${group.engine} engine; join it with that one`,
      );
    requireOwnThread(board, rank);
    this.size = size;
    this.localRanks = [rank];
    this.#binding = binding;
    this.#rank = rank;
    this.#rendezvous = new Rendezvous(control, size, 0);
    this.#descriptors = new Descriptors(group.descriptors, size);
    this.#arena = new Arena(group.arena);
    this.#programs = new Programs(binding, algorithm, size);
    this.#offers = new Offers(binding, this.#programs, rank, size);
    this.#memory = [new Uint8Array(board), this.#rendezvous.state, this.#rendezvous.arrivalOf(rank)];
    this.#member = binding.join(...this.#memory, rank, size, availableParallelism());
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#programs.refuses(collective, dtype);
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#arena.allocate(dtype, length);
  }

  runSync(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions = noOptions): void {
    this.#requireReady(collective, options);
    this.#playSync(this.#offers.of(collective, inputs, outputs, options), options);
  }

  runPiecesSync(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions = noOptions,
  ): void {
    this.#requireReady(collective, options);
    this.#playSync(this.#offers.ofPieces(collective, inputs, outputs, options), options);
  }

  /** Collectives of a rank run one after the other, in the order of the calls. */
  run(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions = noOptions): Promise<void> {
    try {
      this.#requireOpen(collective, options);
      return this.#play(this.#offers.of(collective, inputs, outputs, options), options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  runPieces(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions = noOptions,
  ): Promise<void> {
    try {
      this.#requireOpen(collective, options);
      return this.#play(this.#offers.ofPieces(collective, inputs, outputs, options), options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Leaves the group: whoever waits for this rank afterwards gets an error. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    joined.delete(this.#memory[0].buffer as SharedArrayBuffer);
    this.#rendezvous.fail(this.#rank, 'closed', `rank ${this.#rank} has left the group`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #requireReady(collective: Collective, options: RunOptions): void {
    this.#requireOpen(collective, options);
    if (!this.#tail) return;
    const operation = nameOf(collective);
    throw new RuntimeError(
      'ERR_COLL_BUSY',
      `${operation}: an asynchronous collective of rank ${this.#rank} is still running; await it first`,
      { operation, rank: this.#rank },
    );
  }

  #requireOpen(collective: Collective, { signal }: RunOptions): void {
    if (!this.#isClosed && !signal?.aborted) return;
    const operation = nameOf(collective);
    const details = { operation, rank: this.#rank };
    if (this.#isClosed) {
      const told = `${operation}: rank ${this.#rank} has closed this communicator`;
      throw new RuntimeError('ERR_COLL_CLOSED', told, details);
    }
    const told = `${operation} was aborted before it began`;
    throw new AbortedError('ERR_COLL_ABORTED', told, { ...details, cause: signal?.reason });
  }

  /** Writes what the others read when ranks disagree; the same call needs it once. @throws the failure of a group that they may still read of */
  #describe({ handle: offer, collective }: Call): void {
    if (this.#described === offer) return;
    const failure = this.#rendezvous.failure(nameOf(collective));
    if (failure) throw failure;
    this.#descriptors.write(this.#rank, offer.descriptor);
    this.#described = offer;
  }

  #playSync(call: Call, options: RunOptions): void {
    this.#describe(call);
    const { handle } = call.handle;
    let answer = this.#binding.play(this.#member, handle, waiting.blocking);
    if (answer === status.done) return;
    const wait = this.#wait(call, options);
    for (; answer !== status.done; answer = this.#binding.play(this.#member, handle, waiting.blocking)) {
      if (answer === status.notify) this.#rendezvous.wake(this.#rank);
      else if (answer === status.waiting) this.#lookAfter(wait);
      else this.#fail(answer, wait.operation);
    }
  }

  #play(call: Call, options: RunOptions): Promise<void> {
    if (this.#tail) return this.#follow(this.#playAfter(this.#tail, call, options));
    this.#describe(call);
    const answer = this.#binding.play(this.#member, call.handle.handle, waiting.brief);
    if (answer !== status.done) return this.#follow(this.#goOn(answer, call, options));
    return this.#offers.newCalls.isTurnDue() ? this.#follow(nextTurn()) : settled;
  }

  async #playAfter(before: Promise<void>, call: Call, options: RunOptions): Promise<void> {
    await before.catch(() => {});
    await this.#goOn(undefined, call, options);
  }

  #follow(mine: Promise<void>): Promise<void> {
    this.#tail = mine;
    const leave = () => {
      if (this.#tail === mine) this.#tail = undefined;
    };
    mine.then(leave, leave);
    return mine;
  }

  /** From the answer on that native code gave last; undefined where it was not asked yet. */
  async #goOn(first: number | undefined, call: Call, options: RunOptions): Promise<void> {
    const wait = this.#wait(call, options);
    const { signal } = options;
    const abort = () => this.#rendezvous.fail(this.#rank, 'aborted', `rank ${this.#rank} aborted: ${signal?.reason}`);
    // A pending Atomics.waitAsync does not keep a thread's event loop alive; a timer does.
    const alive = setInterval(() => {}, 2 ** 30);
    signal?.addEventListener('abort', abort);
    try {
      if (signal?.aborted) abort();
      let looks = 0;
      if (first === undefined) this.#describe(call);
      for (let answer = first; answer !== status.done; answer = this.#playOn(call, wait.operation, looks)) {
        if (answer === status.notify) this.#rendezvous.wake(this.#rank);
        else if (answer === status.slice) await nextTurn();
        else if (answer === status.waiting) await this.#waitFor(wait, looks++);
        else if (answer !== undefined) this.#fail(answer, wait.operation);
      }
    } catch (error) {
      this.#binding.abandon(this.#member);
      if (!(error instanceof AbortedError && signal?.aborted)) throw error;
      const details = { rank: this.#rank, operation: wait.operation, cause: signal.reason };
      throw new AbortedError(error.code, error.message, details);
    } finally {
      clearInterval(alive);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** After other code may have run. @throws ValueError where that took memory of the call away */
  #playOn(call: Call, operation: string, looks: number): number {
    const length = looks === 0 ? waiting.brief : waiting.patient;
    if (lostRank(call, 1) === undefined) return this.#binding.play(this.#member, call.handle.handle, length);
    const error = lostBuffer(operation, this.#rank);
    this.#rendezvous.fail(this.#rank, 'peer', `an earlier collective failed: ${error.message}`);
    throw error;
  }

  /** Until all have arrived; those that have may be busy with something else by now. */
  async #waitFor(wait: Wait, look: number): Promise<void> {
    await this.#rendezvous.wait(this.#binding.meeting(this.#member), wait);
    this.#lookAfter(wait);
    if (look > 0) await laterTurn(look);
  }

  #wait({ collective }: Call, { timeoutSeconds }: RunOptions): Wait {
    const isBounded = timeoutSeconds && timeoutSeconds > 0;
    const deadline = isBounded ? Date.now() + timeoutSeconds * 1000 : undefined;
    return { rank: this.#rank, operation: nameOf(collective), deadline };
  }

  /** @throws the group's failure, or DeadlineExceededError, unless everybody is there by now */
  #lookAfter({ rank, operation, deadline }: Wait): void {
    const others = Array.from({ length: this.size }, (_, other) => other).filter((other) => other !== rank);
    const absent = others.filter((other) => this.#binding.isMissing(this.#member, other));
    if (absent.length === 0) return;
    if (deadline !== undefined && Date.now() >= deadline) {
      const meeting = this.#binding.meeting(this.#member);
      const missing = absent.filter((other) => ((this.#rendezvous.count(other) - meeting) | 0) < 0);
      const told = missing.length > 0 ? `${missing.join(', ')} never came` : `${absent.join(', ')} came, but is busy`;
      this.#rendezvous.fail(rank, 'deadline', `timed out on rank ${rank} waiting for other workers: rank ${told}`);
    }
    const failure = this.#rendezvous.failure(operation);
    if (!failure) return;
    this.#binding.abandon(this.#member);
    throw failure;
  }

  /** @throws what a call ended with */
  #fail(answer: number, operation: string): never {
    const failure =
      answer === status.failed ? this.#rendezvous.failure(operation) : this.#disagreement(answer, operation);
    const error = failure ?? new InternalError('ERR_COLL_INTERNAL', `${operation}: the engine answered ${answer}`);
    if (answer !== status.failed)
      this.#rendezvous.fail(error.rank ?? this.#rank, 'peer', `an earlier collective failed: ${error.message}`);
    throw error;
  }

  #disagreement(answer: number, operation: string): CollError | undefined {
    const mismatch = this.#descriptors.mismatch();
    if (mismatch || answer !== status.clashed) return mismatch;
    const clash = this.#binding.clash(this.#member);
    if (!clash) return undefined;
    const [rank, other] = clash;
    const told = `one buffer was given twice: the output of rank ${rank} overlaps memory of rank ${other}`;
    return new ValueError('ERR_COLL_BUFFER', `${operation}: ${told}`, { operation, rank });
  }
}

/** @throws ValueError where another rank of the group has joined in this thread already */
function requireOwnThread(board: SharedArrayBuffer, rank: number): void {
  const other = joined.get(board);
  if (other !== undefined && other !== rank) {
    const told = `rank ${rank} cannot join in the thread of rank ${other}: native ranks wait for each other inside their calls`;
    const cure =
      'give each a thread of its own, or hand in all buffers at once with native.communicator(size, algorithm)';
    throw new ValueError('ERR_COLL_VALUE', `${told}; ${cure}`, { rank });
  }
  joined.set(board, rank);
}
