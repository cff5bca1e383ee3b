import { CollError, type RunOptions } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import { closedError, type KnownCall } from '@coll/core/plugin';
import { status } from '@coll/native/addon';
import { CallTiming, isBusy, leavingMillis, patienceMillis, sliceMillis } from './call-timing.js';
import { PendingCall } from './pending-call.js';
import type { GroupHandle, ProcessBinding } from './process-binding.js';
import type { ProcessCall } from './process-calls.js';
import { ProgressThread, type ThreadOwner } from './progress-thread.js';
import { type StallListener, StallWatch } from './stall-watch.js';

type Call = KnownCall<ProcessCall>;

/** Whose calls they are. */
export interface QueueOwner extends ThreadOwner {
  readonly stalls: StallListener | undefined;
  /** Ends the group for all members, because this one cannot go on. */
  fail(kind: 'failed' | 'aborted', text: string): void;
}

/**
 * The asynchronous calls of a group, one after the other. The first is played here, in slices between which the event loop runs, for as long as it gets
 * on. Where others keep it waiting, or the program its event loop, the group's thread goes on with it and with all behind it.
 */
export class ProcessQueue {
  readonly #binding: ProcessBinding;
  readonly #group: GroupHandle;
  readonly #owner: QueueOwner;
  readonly #thread: ProgressThread;
  /** Calls that were not handed over: the first is played here, unless the group's thread plays one before it. */
  readonly #held: PendingCall[] = [];
  #isTurnDue = false;
  /** Whether the latest call that took more than a slice was neglected. */
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
      new StallWatch(
        stalls,
        () => this.first,
        () => binding.absent(group),
      );
  }

  /** The call that is under way, or comes next. */
  get first(): PendingCall | undefined {
    return this.#thread.first ?? this.#held[0];
  }

  get isEmpty(): boolean {
    return this.#thread.isIdle && this.#held.length === 0;
  }

  /** Begins a call, or puts it behind all others; `number`: of the group's calls. @returns undefined where it is over */
  add(call: Call, number: number, options: RunOptions): Promise<void> | undefined {
    const answer = this.isEmpty ? this.#begin(call) : undefined;
    if (answer === status.done) return undefined;
    const { signal } = options;
    const abort = () => this.#owner.fail('aborted', `aborted: ${messageOf(signal?.reason)}`);
    const pending = new PendingCall({ call, number, millis: millisOf(options), signal, abort });
    this.#held.push(pending);
    if (answer !== undefined) this.#leave(pending, answer);
    this.#advance();
    return pending.ended;
  }

  /** Takes up what has ended. */
  settle(): void {
    this.#thread.settle();
    this.#advance();
  }

  /** Ends all with an error; the group has stopped. */
  close(): void {
    for (const pending of [...this.#thread.release(), ...this.#held.splice(0)]) {
      pending.reject(closedError({ operation: pending.operation, rank: this.#owner.rank }));
    }
    this.#stallWatch?.look();
  }

  /** Goes on with what was not handed over. */
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
      this.#playTurn();
    });
  }

  /** Plays for a slice, after other code may have run. */
  #playTurn(): void {
    const end = performance.now() + sliceMillis;
    for (let first = this.#held[0]; first && this.#thread.isIdle; first = this.#held[0]) {
      if (!this.#playOn(first) || performance.now() >= end) break;
    }
    this.#advance();
  }

  /** @returns whether the call is over */
  #playOn(first: PendingCall): boolean {
    const { call, pace } = first;
    pace?.comeBack();
    if (pace?.wasLate) this.#noteNeglect(call, true);
    if (first.isLost) this.#drop().reject(this.#lose(first));
    else if (pace && (pace.wasLate || pace.isKeptWaiting || first.isLate)) this.#handOver();
    else {
      first.pace ??= this.#newPace(call);
      const answer = this.#playHere(call, sliceMillis);
      if (answer !== status.done) {
        this.#leave(first, answer);
        return false;
      }
      this.#drop().resolve();
    }
    return this.#thread.isIdle;
  }

  #begin(call: Call): number {
    return this.#playHere(call, this.#wasLate(call) ? this.#longSliceOf(call) : sliceMillis);
  }

  #playHere(call: Call, slice: number): number {
    return this.#binding.tryCall(this.#group, call.handle.handle, 1000 * patienceMillis, 1000 * slice);
  }

  /** Of a program that is going to be busy anyway: as long as it would copy for the group's thread. */
  #longSliceOf(call: Call): number {
    return Math.max(sliceMillis, leavingMillis(this.#copiedBytes(call)));
  }

  #newPace(call: Call): CallTiming {
    return new CallTiming(this.#copiedBytes(call));
  }

  #copiedBytes(call: Call): number {
    return this.#binding.copiedBytes(this.#group, call.handle.handle);
  }

  #wasLate(call: Call): boolean {
    return call.handle.wasLate ?? this.#isNeglectful;
  }

  /** After an answer that is not the end of the first call: whoever goes on with it does so later. */
  #leave(first: PendingCall, answer: number): void {
    const { call } = first;
    first.pace ??= this.#newPace(call);
    first.pace.leave(answer);
    first.isBroken = answer !== status.slice && answer !== status.waiting;
    if (first.isBroken) this.#handOver();
    else if (this.#wasLate(call)) {
      this.#handOver();
      const left = performance.now();
      setImmediate(() => this.#noteNeglect(call, isBusy(performance.now() - left)));
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
        // Where there is no memory or no thread for a call, the engine has ended the group.
        const isOurs = error instanceof CollError;
        this.#drop().reject(isOurs ? error : this.#owner.failureOf(call, number, signal));
      }
    }
  }

  /** Takes the first call out that was not handed over. */
  #drop(): PendingCall {
    return this.#held.shift() as PendingCall;
  }

  /** Ends the group, because a call that may have begun cannot go on. */
  #lose(pending: PendingCall): CollError {
    const error = pending.lostError(this.#owner.rank);
    this.#owner.fail('failed', `cannot go on: ${error.message}`);
    return error;
  }
}

/** The time that a call has; 0: for ever. */
export function millisOf({ timeoutSeconds }: RunOptions): number {
  return timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds * 1000 : 0;
}
