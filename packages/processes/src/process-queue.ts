import { CollError, type RunOptions } from '@coll/core';
import { CallTimes, messageOf, resumed, type Stall, type StallListener } from '@coll/core/internal';
import { closedError, operationOf, type PreparedCall } from '@coll/core/plugin';
import { status } from '@coll/native/addon';
import { CallTiming, isBusy, leavingMillis, patienceMillis, sliceMillis } from './call-timing.js';
import { PendingCall } from './pending-call.js';
import type { GroupHandle, ProcessBinding } from './process-binding.js';
import type { ProcessCall } from './process-calls.js';
import { ProgressThread, type ThreadOwner } from './progress-thread.js';
import { StallWatch } from './stall-watch.js';

type Call = PreparedCall<ProcessCall>;

/** The group that makes the calls. */
export interface QueueOwner extends ThreadOwner {
  readonly stalls: StallListener | undefined;
  /** The ranks that have not arrived at the current call, and what is known of them. */
  missing(): Pick<Stall, 'missing' | 'quietSeconds'>;
  /** Whether the group has failed or is closed. */
  hasFailed(): boolean;
  /** Called for a call that took far longer than usual. `medianSeconds`: the usual time. */
  slow(operation: string, seconds: number, medianSeconds: number): void;
  /** Ends the group for all members because this member cannot continue. */
  fail(kind: 'failed' | 'aborted', text: string): void;
}

/**
 * The asynchronous calls of a group, executed in order. This thread executes the first call in
 * slices, between which the event loop runs, as long as the call makes progress. If other members
 * keep the call waiting, or the program blocks its event loop, the group's background thread
 * continues this call and all calls behind it.
 */
export class ProcessQueue {
  readonly #binding: ProcessBinding;
  readonly #group: GroupHandle;
  readonly #owner: QueueOwner;
  readonly #thread: ProgressThread;
  /**
   * Calls that were not moved to the group's background thread. This thread executes the first of
   * them once the background thread has no call left.
   */
  readonly #held: PendingCall[] = [];
  #isTurnDue = false;
  /**
   * Whether the program was busy with other work during the latest call that took more than a
   * slice.
   */
  #isNeglectful = false;
  readonly #stallWatch: StallWatch | undefined;

  constructor(binding: ProcessBinding, group: GroupHandle, owner: QueueOwner) {
    this.#binding = binding;
    this.#group = group;
    this.#owner = owner;
    this.#thread = new ProgressThread(binding, group, owner);
    const { stalls } = owner;
    this.#stallWatch =
      stalls &&
      new StallWatch(stalls, {
        first: () => this.first,
        missing: () => owner.missing(),
        hasFailed: () => owner.hasFailed(),
      });
  }

  /** The first call that has not ended. */
  get first(): PendingCall | undefined {
    return this.#thread.first ?? this.#held[0];
  }

  get isEmpty(): boolean {
    return this.#thread.isIdle && this.#held.length === 0;
  }

  /**
   * Begins a call, or queues it behind earlier ones. `number`: its sequence number in the group.
   * @returns undefined if the call has already ended
   */
  add(call: Call, number: number, options: RunOptions): Promise<void> | undefined {
    const answer = this.isEmpty ? this.#begin(call) : undefined;
    if (answer === status.done) return undefined;
    const { signal } = options;
    const abort = () => this.#owner.fail('aborted', `aborted: ${messageOf(signal?.reason)}`);
    const pending = new PendingCall({ call, number, millis: millisOf(options), signal, abort, done: this.#noteTime });
    this.#held.push(pending);
    if (answer !== undefined) this.#leave(pending, answer);
    this.#advance();
    return pending.ended;
  }

  /** Settles the calls that the group's background thread has ended. */
  settle(): void {
    this.#thread.settle();
    this.#advance();
  }

  /** Fails all calls, because the group has stopped. */
  close(): void {
    for (const pending of [...this.#thread.release(), ...this.#held.splice(0)]) {
      pending.reject(closedError({ operation: pending.operation, rank: this.#owner.rank }));
    }
    this.#stallWatch?.look();
  }

  /** Continues the calls that were not moved to the group's background thread. */
  #advance(): void {
    if (!this.#thread.isIdle) this.#handOver();
    else if (this.#held.length > 0) this.#awaitTurn();
    this.#stallWatch?.look();
  }

  #awaitTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      this.#executeTurn();
    });
  }

  /**
   * Executes a slice of the first call when the event loop comes back to it. Other code may have
   * run before.
   */
  #executeTurn(): void {
    const end = performance.now() + sliceMillis;
    for (let first = this.#held[0]; first && this.#thread.isIdle; first = this.#held[0]) {
      if (!this.#executeSlice(first) || performance.now() >= end) break;
    }
    this.#advance();
  }

  /** Executes a slice of the first call. @returns whether the call has ended */
  #executeSlice(first: PendingCall): boolean {
    const { call, pace } = first;
    pace?.comeBack();
    if (pace?.wasLate) this.#noteNeglect(call, true);
    if (first.isLost) this.#drop().reject(this.#lose(first));
    else if (pace && (pace.wasLate || pace.isKeptWaiting || first.isLate)) this.#handOver();
    else {
      first.pace ??= this.#newPace(call);
      const answer = resumed(first.recorded, () => this.#executeHere(call, sliceMillis));
      if (answer !== status.done) {
        this.#leave(first, answer);
        return false;
      }
      this.#drop().resolve();
    }
    return this.#thread.isIdle;
  }

  #begin(call: Call): number {
    return this.#executeHere(call, this.#wasLate(call) ? this.#longSliceOf(call) : sliceMillis);
  }

  #executeHere(call: Call, slice: number): number {
    return this.#binding.tryCall(this.#group, call.handle.handle, 1000 * patienceMillis, 1000 * slice);
  }

  /**
   * Duration of a slice, in milliseconds, for a program that blocks its event loop anyway: the time
   * that it would take to copy the call's memory for the group's background thread.
   */
  #longSliceOf(call: Call): number {
    return Math.max(sliceMillis, leavingMillis(this.#copiedBytes(call)));
  }

  /** Compares the time of a call that is repeated with its earlier times. */
  readonly #noteTime = ({ call, pace }: PendingCall): void => {
    if (!pace || !call.isKept) return;
    const seconds = pace.elapsedMillis / 1000;
    call.handle.times ??= new CallTimes();
    const median = call.handle.times.note(seconds);
    if (median !== undefined) this.#owner.slow(operationOf(call), seconds, median);
  };

  #newPace(call: Call): CallTiming {
    return new CallTiming(this.#copiedBytes(call));
  }

  #copiedBytes(call: Call): number {
    return this.#binding.copiedBytes(this.#group, call.handle.handle);
  }

  #wasLate(call: Call): boolean {
    return call.handle.wasLate ?? this.#isNeglectful;
  }

  /**
   * Decides which thread continues the first call, which has not ended: this one, or the group's
   * background thread.
   */
  #leave(first: PendingCall, answer: number): void {
    const { call } = first;
    first.pace ??= this.#newPace(call);
    first.pace.leave(answer);
    first.isBroken = answer !== status.slice && answer !== status.waiting;
    if (first.isBroken) this.#handOver();
    else if (this.#wasLate(call)) {
      const copiedBytes = this.#copiedBytes(call);
      this.#handOver();
      const left = performance.now();
      setImmediate(() => this.#noteNeglect(call, isBusy(performance.now() - left, copiedBytes)));
    }
  }

  #noteNeglect(call: Call, wasLate: boolean): void {
    call.handle.wasLate = wasLate;
    this.#isNeglectful = wasLate;
  }

  #handOver(): void {
    for (let first = this.#held[0]; first; first = this.#held[0]) {
      try {
        if (!first.isBroken && first.isLost) throw this.#lose(first);
        if (!this.#thread.take(first)) return;
        this.#held.shift();
      } catch (error) {
        const { call, number, signal } = first;
        // Other errors come from the engine, which ends the group if it lacks memory or a thread
        // for a call.
        const isOurs = error instanceof CollError;
        this.#drop().reject(isOurs ? error : this.#owner.failureOf(call, number, signal));
      }
    }
  }

  /** Removes the first call that was not moved to the group's background thread. */
  #drop(): PendingCall {
    return this.#held.shift() as PendingCall;
  }

  /**
   * Ends the group, because the program has transferred the memory of a call that other members may
   * have begun. Returns the error.
   */
  #lose(pending: PendingCall): CollError {
    const error = pending.lostError(this.#owner.rank);
    this.#owner.fail('failed', `cannot continue: ${error.message}`);
    return error;
  }
}

/** Timeout of a call in milliseconds; 0 means no limit. */
export function millisOf({ timeoutSeconds }: RunOptions): number {
  return timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds * 1000 : 0;
}
