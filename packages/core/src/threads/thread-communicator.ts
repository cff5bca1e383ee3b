import { blockingError, lostBufferError } from '../collectives/call-errors.js';
import type { Collective } from '../collectives/collective.js';
import type { MakeKernels } from '../kernels/fold.js';
import { javascriptKernels } from '../kernels/javascript-kernels.js';
import { recordedCommunicator } from '../record/recorder-hook.js';
import { Arena } from '../runtime/arena.js';
import type { PreparedCall } from '../runtime/call-cache.js';
import type { RunOptions } from '../runtime/communicator.js';
import { Descriptors } from '../runtime/descriptors.js';
import type { ThreadGroup } from '../runtime/engine.js';
import { nextTurn } from '../runtime/event-loop.js';
import { OrderedCommunicator } from '../runtime/ordered-communicator.js';
import { Plans } from '../runtime/plans.js';
import type { CheckedCall, SegmentList } from '../runtime/segment-list.js';
import type { Algorithm } from '../schedule/schedule.js';
import { oneRank } from '../support/ranks.js';
import type { DType } from '../values/dtype.js';
import { attended } from './attended.js';
import { CallExecution, type Need } from './call-execution.js';
import { mayBlock } from './may-block.js';
import { type Offer, Offers } from './offers.js';
import { SegmentTable } from './segment-table.js';
import { fewLooks, SharedBarrier, waitOf } from './shared-barrier.js';
import { createThreadGroup, requireJoin } from './thread-group.js';
import { type ThreadEngine, ThreadRank } from './thread-rank.js';

/** The rank that joins a group of threads, and how it executes collectives. */
export interface JoinOptions {
  /** The rank that this thread takes in the group, from 0. Each rank of a group joins once. */
  readonly rank: number;
  /** The algorithm, which must be the same on all ranks. */
  readonly algorithm: Algorithm;
  /** Makes the kernels for the arithmetic. Default: JavaScript. */
  readonly kernels?: MakeKernels;
  /** The engine that makes and joins the groups that this group is split into. Default: the JavaScript engine. */
  readonly engine?: ThreadEngine;
}

type Call = PreparedCall<Offer>;

// Milliseconds after which an asynchronous call yields to the event loop.
const turnMillis = 1;

/**
 * One rank of a group of threads. Memory from `allocate` is shared and used in place; other memory
 * is copied into the shared arena and back. Each rank combines its own part of the buffer straight
 * from its peers' memory. Threads post no messages.
 *
 * If all peers have already arrived, an asynchronous call completes before it returns.
 */
export class ThreadCommunicator extends OrderedCommunicator<Offer> {
  readonly group: ThreadRank;
  readonly #rank: number;
  readonly #arena: Arena;
  readonly #plans: Plans;
  readonly #barrier: SharedBarrier;
  readonly #offers: Offers;
  readonly #execution: CallExecution;
  readonly #looks: number;

  /** @throws ValueError for a rank outside the group */
  constructor(threads: ThreadGroup, options: JoinOptions, group?: ThreadRank) {
    requireJoin(threads, options);
    const { size, control, descriptors, spins, whole } = threads;
    const { rank, algorithm, kernels = javascriptKernels, engine = javascriptThreads } = options;
    super(size, oneRank(rank, size));
    this.#rank = rank;
    this.#arena = new Arena(threads.arena);
    this.#plans = new Plans(algorithm, size, kernels(this.#arena));
    this.#barrier = new SharedBarrier(control, size, spins, whole);
    this.#looks = Math.min(spins, fewLooks);
    const nextNumber = () => this.#barrier.nextOffer(rank);
    this.#offers = new Offers({ rank, size, arena: this.#arena, plans: this.#plans, nextNumber });
    const tables = [new Descriptors(descriptors, size, 0), new Descriptors(descriptors, size, 1)] as const;
    const pieces = new SegmentTable(this.#arena);
    this.#execution = new CallExecution({ barrier: this.#barrier, tables, pieces, memory: this.#arena, rank, size });
    this.group =
      group ??
      new ThreadRank({
        rank,
        threads,
        engine,
        barrier: this.#barrier,
        arena: this.#arena,
        communicator: (other, own) => new ThreadCommunicator(threads, { ...options, algorithm: other }, own),
      });
    this.recorded = recordedCommunicator(this.group, algorithm.name, 'exact');
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#plans.refuses(collective, dtype);
  }

  // A grown arena is visible through several buffers; overlap checks need a single one.
  protected override present(lists: readonly SegmentList[]): readonly SegmentList[] {
    return lists.map((pieces) => pieces.map((piece) => this.#arena.present(piece)));
  }

  protected prepare(call: CheckedCall): Offer {
    return this.#offers.make(call);
  }

  protected executeSync({ handle: offer }: Call, options: RunOptions): void {
    if (!mayBlock()) {
      const details = { operation: offer.operation, rank: this.#rank };
      throw blockingError('would block the main thread of the page', 'join the group in a worker', details);
    }
    this.#begin(offer);
    const wait = waitOf(this.#rank, offer.operation, options);
    do this.#barrier.waitSync(this.#execution.count, wait);
    while (this.#execution.goOn(Number.POSITIVE_INFINITY) !== 'nothing');
  }

  protected override execute({ handle: offer }: Call, options: RunOptions): Promise<void> | undefined {
    const until = performance.now() + turnMillis;
    let need = this.#begin(offer);
    while (need === 'meeting' && this.#barrier.spin(this.#execution.count, this.#looks))
      need = this.#execution.goOn(until);
    return need === 'nothing' ? undefined : this.#goOn(need, offer, options);
  }

  protected override executeLater({ handle: offer }: Call, options: RunOptions): Promise<void> {
    return this.#goOn('beginning', offer, options);
  }

  /** Leaves the group: later waits for this rank fail. */
  protected override release(): void {
    this.#barrier.leave(this.#rank);
    this.group.close();
  }

  /**
   * Begins a call.
   * @throws the group's failure, if the group has failed: members may still read memory that the
   * call would overwrite
   */
  #begin(offer: Offer): Need {
    const failure = this.#barrier.failureMet(offer.operation);
    if (failure) throw failure;
    this.#execution.begin(offer);
    return 'meeting';
  }

  #goOn(first: Need | 'beginning', offer: Offer, options: RunOptions): Promise<void> {
    const wait = waitOf(this.#rank, offer.operation, options);
    return attended(this.#barrier, wait, options.signal, async () => {
      let need = first === 'beginning' ? this.#begin(offer) : first;
      while (need !== 'nothing') {
        if (need === 'meeting') await this.#barrier.wait(this.#execution.count, wait);
        else await nextTurn();
        this.#requireMemory(offer.operation);
        need = this.#execution.goOn(performance.now() + turnMillis);
      }
    });
  }

  /**
   * Checks the memory of a call after other code may have run.
   * @throws ValueError if the memory was transferred
   */
  #requireMemory(operation: string): void {
    if (this.#execution.isWhole) return;
    const error = lostBufferError(operation, this.#rank);
    this.#barrier.failFor(error, this.#rank);
    throw error;
  }
}

const javascriptThreads: ThreadEngine = {
  createGroup: (options) => createThreadGroup(options),
  join: (group, request) => new ThreadCommunicator(group, request),
};
