import { type Collective, nameOf } from '../collective.js';
import type { Communicator, RunOptions } from '../communicator.js';
import type { DType } from '../dtype.js';
import { AbortedError, RuntimeError, ValueError } from '../errors.js';
import type { MakeKernels } from '../kernels/fold.js';
import { javascriptKernels } from '../kernels/javascript-kernels.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { Tensor } from '../tensor.js';
import { Arena } from './arena.js';
import { Descriptors } from './descriptors.js';
import { nextTurn } from './event-loop.js';
import { type Offer, Offers } from './offers.js';
import type { Pieces } from './pieces.js';
import { Plans } from './plans.js';
import { fewLooks, Rendezvous, type Wait } from './rendezvous.js';
import type { ThreadGroup } from './thread-group.js';
import { type Need, Turn } from './turn.js';

export interface JoinOptions {
  readonly rank: number;
  readonly algorithm: Algorithm;
  /** What the arithmetic is done with. Default: JavaScript. */
  readonly kernels?: MakeKernels;
}

const noOptions: RunOptions = {};
const settled = Promise.resolve();

// An asynchronous call that takes longer lets the event loop run in between.
const turnMillis = 1;

/**
 * One rank of a group of threads. Memory from `allocate` is shared and used in place; other memory is copied into the
 * shared arena and back. Each rank works off its own part of the buffer, straight from its peers' memory. Nothing is posted between threads.
 *
 * An asynchronous call whose peers are there already is over before it returns.
 */
export class ThreadCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #rank: number;
  readonly #arena: Arena;
  readonly #rendezvous: Rendezvous;
  readonly #offers: Offers;
  readonly #turn: Turn;
  readonly #looks: number;
  #tail: Promise<void> | undefined;
  #isClosed = false;

  /** @throws ValueError for a rank outside the group */
  constructor(group: ThreadGroup, { rank, algorithm, kernels = javascriptKernels }: JoinOptions) {
    const { size, control, descriptors, spins } = group;
    if (!(Number.isInteger(rank) && rank >= 0 && rank < size))
      throw new ValueError('ERR_COLL_VALUE', `rank ${rank} is not one of ${size}`);
    this.size = size;
    this.localRanks = [rank];
    this.#rank = rank;
    this.#arena = new Arena(group.arena);
    this.#rendezvous = new Rendezvous(control, size, spins);
    this.#looks = Math.min(spins, fewLooks);
    const plans = new Plans(algorithm, size, kernels(this.#arena));
    const nextNumber = () => this.#rendezvous.nextOffer(rank);
    this.#offers = new Offers({ rank, size, arena: this.#arena, plans, nextNumber });
    const tables = [new Descriptors(descriptors, size, 0), new Descriptors(descriptors, size, 1)] as const;
    this.#turn = new Turn(this.#rendezvous, tables, rank, size);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#offers.refuses(collective, dtype);
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
    if (!this.#isClosed && !signal?.aborted && !this.#rendezvous.hasFailed) return;
    const operation = nameOf(collective);
    const details = { operation, rank: this.#rank };
    if (this.#isClosed) {
      const told = `${operation}: rank ${this.#rank} has closed this communicator`;
      throw new RuntimeError('ERR_COLL_CLOSED', told, details);
    }
    this.#requireSound(operation);
    const told = `${operation} was aborted before it began`;
    throw new AbortedError('ERR_COLL_ABORTED', told, { ...details, cause: signal?.reason });
  }

  #requireSound(operation: string): void {
    const failure = this.#rendezvous.failure(operation);
    if (failure) throw failure;
  }

  #playSync(offer: Offer, options: RunOptions): void {
    const wait = this.#wait(offer, options);
    this.#turn.begin(offer);
    do this.#rendezvous.waitSync(this.#turn.count, wait);
    while (this.#turn.goOn(Number.POSITIVE_INFINITY) !== 'nothing');
  }

  #play(offer: Offer, options: RunOptions): Promise<void> {
    if (this.#tail) return this.#follow(this.#playAfter(this.#tail, offer, options));
    const until = performance.now() + turnMillis;
    this.#turn.begin(offer);
    let need: Need = 'meeting';
    while (need === 'meeting' && this.#rendezvous.spin(this.#turn.count, this.#looks)) need = this.#turn.goOn(until);
    return need === 'nothing' ? settled : this.#follow(this.#goOn(need, offer, options));
  }

  async #playAfter(before: Promise<void>, offer: Offer, options: RunOptions): Promise<void> {
    await before.catch(() => {});
    await this.#goOn('beginning', offer, options);
  }

  #follow(mine: Promise<void>): Promise<void> {
    this.#tail = mine;
    const leave = () => {
      if (this.#tail === mine) this.#tail = undefined;
    };
    mine.then(leave, leave);
    return mine;
  }

  #requireMemory(operation: string): void {
    if (this.#turn.isWhole) return;
    const told = 'a buffer was detached or resized while it was in use; keep it until the call has ended';
    this.#rendezvous.fail(this.#rank, 'peer', `rank ${this.#rank} has lost memory: ${told}`);
    throw new ValueError('ERR_COLL_BUFFER', `${operation}: rank ${this.#rank}: ${told}`, {
      operation,
      rank: this.#rank,
    });
  }

  // A call that was queued behind one that failed must not begin: it would overwrite what the others still look at.
  #begin(offer: Offer): Need {
    this.#requireSound(offer.operation);
    this.#turn.begin(offer);
    return 'meeting';
  }

  async #goOn(first: Need | 'beginning', offer: Offer, options: RunOptions): Promise<void> {
    const wait = this.#wait(offer, options);
    const { operation } = offer;
    const { signal } = options;
    const abort = () => this.#rendezvous.fail(this.#rank, 'aborted', `rank ${this.#rank} aborted: ${signal?.reason}`);
    // A pending Atomics.waitAsync does not keep a thread's event loop alive; a timer does.
    const alive = setInterval(() => {}, 2 ** 30);
    signal?.addEventListener('abort', abort);
    try {
      if (signal?.aborted) abort();
      let need = first === 'beginning' ? this.#begin(offer) : first;
      while (need !== 'nothing') {
        if (need === 'meeting') await this.#rendezvous.wait(this.#turn.count, wait);
        else await nextTurn();
        this.#requireMemory(operation);
        need = this.#turn.goOn(performance.now() + turnMillis);
      }
    } catch (error) {
      if (!(error instanceof AbortedError && signal?.aborted)) throw error;
      throw new AbortedError(error.code, error.message, { rank: this.#rank, operation, cause: signal.reason });
    } finally {
      clearInterval(alive);
      signal?.removeEventListener('abort', abort);
    }
  }

  #wait({ operation }: Offer, { timeoutSeconds }: RunOptions): Wait {
    const isBounded = timeoutSeconds && timeoutSeconds > 0;
    return { rank: this.#rank, operation, deadline: isBounded ? Date.now() + timeoutSeconds * 1000 : undefined };
  }
}
