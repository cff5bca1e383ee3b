import { requireCall, requireCollective } from '../collectives/buffers.js';
import { abortedError, busyError, type CallDetails, closedError, refusedError } from '../collectives/call-errors.js';
import { type CallerRequest, operationOf } from '../collectives/caller-request.js';
import type { Collective } from '../collectives/collective.js';
import type { Refusals } from '../collectives/refusals.js';
import { type RecordedCommunicator, recorder, recordFailure, recordRefusal } from '../record/recorder-hook.js';
import type { CollError } from '../support/errors.js';
import type { DType } from '../values/dtype.js';
import { CallCache, isWhole, type PreparedCall } from './call-cache.js';
import type { Communicator, Group, PersistentCollective, RunOptions, Segments } from './communicator.js';
import { nextTurn } from './event-loop.js';
import { requireRunOptions } from './run-options.js';
import { type CheckedCall, checkedCall, listOf, type SegmentList } from './segment-list.js';
import { endedAtOnce } from './until-all-have-ended.js';

// Bytes of all ranks together. They take a millisecond or two, even in many small calls.
const mostBytesOfTurn = 2 ** 25;
const leastBytesOfCall = 2 ** 14;

const noOptions: RunOptions = Object.freeze({});

/**
 * A communicator that executes calls one after the other, in the order in which they were made. It
 * prepares a `Handle` for each call, and keeps the handles of calls that are repeated. Subclasses
 * define the execution. A call that completes at once returns a settled promise. Every millisecond
 * or two, one such call waits for a turn of the event loop, which would otherwise starve.
 *
 * @example
 * ```ts
 * import { jsEngine, tensor } from '@coll/core';
 * import { type CheckedCall, type PreparedCall, nameOf, OrderedCommunicator } from '@coll/core/plugin';
 * import { directAlgorithm } from '@coll/direct';
 *
 * // Prints the collectives of a single rank instead of executing them.
 * class Printing extends OrderedCommunicator<string> {
 *   readonly group = jsEngine.communicator(1, directAlgorithm()).group;
 *
 *   refuses() {
 *     return undefined;
 *   }
 *
 *   protected prepare({ collective }: CheckedCall) {
 *     return nameOf(collective);
 *   }
 *
 *   protected executeSync({ handle }: PreparedCall<string>) {
 *     console.log(handle); // all-reduce sum
 *   }
 * }
 *
 * const buffers = [tensor([1])];
 * await new Printing(1, [0]).run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * ```
 */
export abstract class OrderedCommunicator<Handle> implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  abstract readonly group: Group;
  /** How the calls are recorded. Default: they are not. */
  protected recorded: RecordedCommunicator | undefined;
  readonly #calls = new CallCache<Handle>();
  /** The latest call under way; undefined if there is none. */
  #latest: Promise<unknown> | undefined;
  /** Bytes of calls that completed at once, since the last turn of the event loop. */
  #bytesOfTurn = 0;
  #isClosed = false;

  constructor(size: number, localRanks: readonly number[]) {
    this.size = size;
    this.localRanks = localRanks;
  }

  abstract refuses(collective: Collective, dtype: DType): string | undefined;

  /**
   * Prepares the handle with which the call is executed. `isKept`: whether the handle will serve
   * repetitions of the call on the same memory, too; otherwise, `recycle` gets it back.
   */
  protected abstract prepare(call: CheckedCall, isKept: boolean): Handle;

  /** Takes back the handle of a call that has ended without error and is not kept. */
  protected recycle(_handle: Handle): void {}

  /** Executes one collective, blocking the calling thread. */
  protected abstract executeSync(call: PreparedCall<Handle>, options: RunOptions): void;

  /**
   * Begins a call while no earlier call is under way.
   * @returns undefined if the call has already ended. Default: executes `executeSync` and returns
   * undefined.
   */
  protected execute(call: PreparedCall<Handle>, options: RunOptions): Promise<void> | undefined {
    this.executeSync(call, options);
    return undefined;
  }

  /**
   * Like `execute`, for a call that had to wait: meanwhile its signal may have been aborted, or its
   * memory detached.
   */
  protected executeLater(call: PreparedCall<Handle>, options: RunOptions): Promise<void> | undefined {
    return this.execute(call, options);
  }

  /**
   * Queues a call behind the calls under way. Default: `executeLater` executes it when `before`, the
   * latest of them, has ended.
   */
  protected async queue(before: Promise<unknown>, call: PreparedCall<Handle>, options: RunOptions): Promise<void> {
    await before.catch(() => {});
    await this.executeLater(call, options);
  }

  /** Releases resources. Called once; `running` is the latest call under way. */
  protected release(_running: Promise<unknown> | undefined): Promise<void> | void {}

  /** Replaces the tensors of a call, before it is validated, by tensors on the same memory. */
  protected present(lists: readonly SegmentList[]): readonly SegmentList[] {
    return lists;
  }

  runSync(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions = noOptions,
  ): void {
    let call: PreparedCall<Handle>;
    try {
      if (options !== noOptions) requireRunOptions(options);
      this.#requireIdle(collective, options);
      call = this.#callOf(collective, inputs, outputs, options);
    } catch (error) {
      throw this.#refused(error);
    }
    this.#runNow(call, options);
  }

  run(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions = noOptions,
  ): Promise<void> {
    let call: PreparedCall<Handle> | undefined;
    try {
      if (options !== noOptions) requireRunOptions(options);
      this.#requireOpen(collective, options);
      call = this.#callOf(collective, inputs, outputs, options);
      return this.#enqueue(call, options, false);
    } catch (error) {
      return Promise.reject(call ? error : this.#refused(error));
    }
  }

  persistent(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions = noOptions,
  ): PersistentCollective {
    let prepared: PreparedCall<Handle>;
    try {
      if (options !== noOptions) requireRunOptions(options);
      this.#requireOpen(collective, options);
      prepared = this.#callOf(collective, inputs, outputs, options, true);
    } catch (error) {
      throw this.#refused(error);
    }
    const call = () => {
      // Memory that was detached or resized since is refused, or prepared anew.
      if (!isWhole(prepared)) return this.#callOf(collective, inputs, outputs, options);
      if (prepared.refusals !== this.#refusalsFor(options))
        prepared = this.#callOf(collective, inputs, outputs, options, true);
      return prepared;
    };
    return {
      run: () => {
        let next: PreparedCall<Handle> | undefined;
        try {
          this.#requireOpen(collective, options);
          next = call();
          return this.#enqueue(next, options, false);
        } catch (error) {
          return Promise.reject(next ? error : this.#refused(error));
        }
      },
      runSync: () => {
        let next: PreparedCall<Handle>;
        try {
          this.#requireIdle(collective, options);
          next = call();
        } catch (error) {
          throw this.#refused(error);
        }
        this.#runNow(next, options);
      },
    };
  }

  /**
   * Refuses later calls. A rank in a group of threads leaves at once, which ends calls under way; a
   * single controller finishes them first.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#calls.forget();
    await this.release(this.#latest);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #requireOpen(collective: Collective, { signal, request }: RunOptions): void {
    if (this.#isClosed) throw closedError(this.#detailsOf(collective, request));
    // Remote ranks are notified by their engine.
    if (this.localRanks.length === this.size && this.group.failure) throw this.group.failure;
    if (signal?.aborted) throw abortedError('before it began', signal, this.#detailsOf(collective, request));
  }

  #requireIdle(collective: Collective, options: RunOptions): void {
    this.#requireOpen(collective, options);
    const isBusy = this.#latest !== undefined || (this.group.order.isHeld && !options.turn);
    if (isBusy) throw busyError(this.#detailsOf(collective, options.request));
  }

  /**
   * Checks a call that had to wait. If it cannot begin, the group fails, because remote ranks wait
   * for the call.
   */
  #requireStillOpen(collective: Collective, options: RunOptions): void {
    try {
      this.#requireOpen(collective, options);
    } catch (error) {
      if (this.localRanks.length < this.size) this.group.fail(error as CollError);
      throw error;
    }
  }

  #detailsOf(collective: Collective, request: CallerRequest | undefined): CallDetails {
    const operation = operationOf({ collective, request });
    const [rank, ...others] = this.localRanks as readonly [number, ...number[]];
    return others.length === 0 ? { operation, rank } : { operation };
  }

  #callOf(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions,
    isRepeated = false,
  ): PreparedCall<Handle> {
    requireCall(collective, inputs, outputs);
    const known = this.#calls.find(collective, inputs, outputs, options, this.#refusalsFor(options));
    return known ?? this.#check(collective, inputs.map(listOf), outputs.map(listOf), options, isRepeated);
  }

  #check(
    collective: Collective,
    inputs: readonly SegmentList[],
    outputs: readonly SegmentList[],
    options: RunOptions,
    isRepeated: boolean,
  ): PreparedCall<Handle> {
    requireCollective(collective);
    const { size, localRanks } = this;
    const buffers = { collective, size, localRanks, inputs: this.present(inputs), outputs: this.present(outputs) };
    const refusals = this.#refusalsFor(options);
    const call = checkedCall(buffers, options, refusals);
    const refused = this.refuses(collective, call.dtype);
    if (refused) throw refusedError(refused, this.#detailsOf(collective, options.request));
    const prepare = (isKept: boolean) => this.prepare(call, isKept);
    return this.#calls.add(collective, inputs, outputs, options, prepare, isRepeated, refusals);
  }

  /** The calls that the rank had refused when it made a call with these options. */
  #refusalsFor({ turn }: RunOptions): Refusals {
    return (turn ?? this.group.order).refusals;
  }

  /** Counts a call that was refused before it began, if other callers make the calls of other ranks. Returns the error. */
  #refused(error: unknown): unknown {
    if (this.localRanks.length < this.size) this.group.order.refuse(error);
    recordRefusal(this.recorded?.group, error);
    return error;
  }

  #runNow(call: PreparedCall<Handle>, options: RunOptions): void {
    const number = this.#record(call, false);
    try {
      this.executeSync(call, options);
    } catch (error) {
      this.#recordFailure(number, error);
      // Another communicator of the group was busy, or this thread must not block.
      const { code } = error as Partial<CollError>;
      if (code === 'ERR_COLL_BUSY' || code === 'ERR_COLL_CONTEXT') this.#refused(error);
      throw error;
    }
    recorder?.end(number, true);
    if (!call.isKept) this.recycle(call.handle);
  }

  #recordFailure(number: number, error: unknown): void {
    recorder?.end(number, false, error);
    recordFailure(this.recorded?.group, error);
  }

  /** Records a call that begins. Returns its number in the recorder. */
  #record(call: PreparedCall<Handle>, isQueued: boolean): number {
    this.group.order.count(call.bytes);
    const { recorded } = this;
    return recorder && recorded ? recorder.begin(recorded, call, isQueued) : 0;
  }

  /**
   * Begins a call, or queues it behind the calls under way and behind the turn that is held.
   * `hasWaited` means that the call had to wait, so its memory may have been detached meanwhile.
   */
  #enqueue(call: PreparedCall<Handle>, options: RunOptions, hasWaited: boolean): Promise<void> {
    const { order } = this.group;
    if (order.isHeld && !options.turn && !hasWaited) {
      return order.start(async () => {
        this.#requireStillOpen(call.collective, options);
        await this.#enqueue(call, options, true);
      });
    }
    const latest = this.#latest;
    const begin = hasWaited ? this.executeLater : this.execute;
    const number = this.#record(call, latest !== undefined);
    let running: Promise<void> | undefined;
    try {
      running = latest ? this.queue(latest, call, options) : begin.call(this, call, options);
    } catch (error) {
      this.#recordFailure(number, error);
      throw error;
    }
    if (running) {
      this.#bytesOfTurn = 0;
      recorder?.leave(number);
    } else recorder?.end(number, true);
    const turn = running ?? this.#turnAfter(call);
    if (!turn) {
      if (!call.isKept) this.recycle(call.handle);
      return endedAtOnce;
    }
    this.#latest = turn;
    const leave = () => {
      if (this.#latest === turn) this.#latest = undefined;
    };
    const end = () => {
      leave();
      if (running) recorder?.end(number, true);
      if (!call.isKept) this.recycle(call.handle);
    };
    const fail = (error: unknown) => {
      leave();
      this.#recordFailure(number, error);
    };
    turn.then(end, fail);
    return turn;
  }

  /** Waits for a turn of the event loop if one is due after this call; undefined otherwise. */
  #turnAfter({ bytes }: PreparedCall<Handle>): Promise<void> | undefined {
    this.#bytesOfTurn += leastBytesOfCall + (bytes * this.size) / this.localRanks.length;
    if (this.#bytesOfTurn < mostBytesOfTurn) return undefined;
    this.#bytesOfTurn = 0;
    return nextTurn();
  }
}
