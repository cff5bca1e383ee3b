import type { CollError, RunOptions } from '@coll/core';
import { closedError, type KnownCall, lostBufferError, lostRank, operationOf } from '@coll/core/executor';
import { status } from './native-binding.js';
import type { GroupHandle, ProcessBinding } from './process-binding.js';
import type { ProcessCall } from './process-calls.js';
import { isBusy, leavingMillis, Pace, patienceMillis, sliceMillis } from './process-pace.js';
import { type StallListener, StallWatch } from './stall-watch.js';

type Call = KnownCall<ProcessCall>;

/** Whose calls they are. */
export interface QueueOwner {
  readonly rank: number;
  readonly stalls: StallListener | undefined;
  /** Ends the group for all members, because this one cannot go on. */
  fail(kind: 'failed' | 'aborted', text: string): void;
  /** Ends it for what the engine found out about a call. */
  end(answer: number, call: Call): void;
  failureOf(call: Call, number: number, signal: AbortSignal | undefined): CollError;
}

/** A call that was not over before it returned. */
interface Pending {
  readonly call: Call;
  readonly number: number;
  readonly options: RunOptions;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  readonly abort: (() => void) | undefined;
  /** Of a call that has begun here. */
  pace: Pace | undefined;
  /** Nothing of it moves any more: the group's thread finds out why. */
  isBroken: boolean;
}

/**
 * The asynchronous calls of a group, one after the other. The first is played here, in slices between which the event loop runs, for as long as it gets
 * on. Where others keep it waiting, or the program its event loop, the group's thread goes on with it and with all behind it. That plays them in memory of
 * ours, in place of memory that a program can take away meanwhile: inputs are copied when a call is handed over, results when that is over.
 */
export class ProcessQueue {
  readonly #binding: ProcessBinding;
  readonly #group: GroupHandle;
  readonly #owner: QueueOwner;
  readonly #pending = new Map<number, Pending>();
  /** Those of them that were not handed over: the first is played here, unless the group's thread plays one before it. */
  readonly #held: Pending[] = [];
  #handedOver = 0;
  #isTurnDue = false;
  /** Whether the latest call that took more than a slice was neglected. */
  #isNeglectful = false;
  readonly #stallWatch: StallWatch | undefined;

  constructor(binding: ProcessBinding, group: GroupHandle, owner: QueueOwner) {
    this.#binding = binding;
    this.#group = group;
    this.#owner = owner;
    const { stalls } = owner;
    const first = () => this.#first();
    this.#stallWatch = stalls && new StallWatch(stalls, first, () => binding.absent(group));
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  /** Begins a call, or puts it behind all others; `number`: of the group's calls. @returns undefined where it is over */
  add(call: Call, number: number, options: RunOptions): Promise<void> | undefined {
    if (!this.isEmpty) return this.#put(call, number, options, undefined);
    const answer = this.#playHere(call, this.#isNeglected(call) ? this.#longSliceOf(call) : sliceMillis);
    return answer === status.done ? undefined : this.#put(call, number, options, answer);
  }

  #put(call: Call, number: number, options: RunOptions, answer: number | undefined): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const abort = signal && (() => this.#owner.fail('aborted', `aborted: ${signal.reason}`));
      if (abort) signal.addEventListener('abort', abort);
      const pending = { call, number, options, resolve, reject, abort, pace: undefined, isBroken: false };
      this.#pending.set(number, pending);
      this.#held.push(pending);
      if (answer !== undefined) this.#leave(pending, answer);
      this.#advance();
      this.#stallWatch?.look();
    });
  }

  /** Takes up what has ended. */
  settle(): void {
    const results = this.#binding.results(this.#group);
    for (let at = 0; at < results.length; at += 2) {
      const pending = this.#pending.get(results[at] as number);
      if (pending) this.#take(pending, results[at + 1] as number);
    }
    this.#advance();
  }

  /** Ends all with an error; the group has stopped. */
  close(): void {
    this.#held.length = 0;
    for (const pending of this.#pending.values()) {
      const { call } = pending;
      this.#finish(pending, false);
      pending.reject(closedError({ operation: operationOf(call), rank: this.#owner.rank }));
    }
  }

  /** Goes on with what was not handed over. */
  #advance(): void {
    if (this.#handedOver > 0) this.#handOver();
    else if (this.#held.length > 0) this.#awaitTurn();
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
    for (let first = this.#held[0]; first && this.#handedOver === 0; first = this.#held[0]) {
      if (!this.#playOn(first) || performance.now() >= end) break;
    }
    this.#advance();
  }

  /** @returns whether the call is over */
  #playOn(first: Pending): boolean {
    const { call, pace } = first;
    pace?.comeBack();
    if (pace?.isNeglected) this.#noteNeglect(call, true);
    if (lostRank(call, 1) !== undefined) this.#drop(first, this.#lose(call));
    else if (pace && (pace.isNeglected || pace.isKeptWaiting || isLate(first))) this.#handOver();
    else {
      first.pace ??= this.#newPace(call);
      const answer = this.#playHere(call, sliceMillis);
      if (answer !== status.done) {
        this.#leave(first, answer);
        return false;
      }
      this.#drop(first);
    }
    return this.#handedOver === 0;
  }

  #playHere(call: Call, slice: number): number {
    return this.#binding.tryCall(this.#group, call.handle.handle, 1000 * patienceMillis, 1000 * slice);
  }

  /** Of a program that is going to be busy anyway: as long as it would copy for the group's thread. */
  #longSliceOf(call: Call): number {
    return Math.max(sliceMillis, leavingMillis(this.#copiedBytes(call)));
  }

  #newPace(call: Call): Pace {
    return new Pace(this.#copiedBytes(call));
  }

  #copiedBytes(call: Call): number {
    return this.#binding.copiedBytes(this.#group, call.handle.handle);
  }

  #isNeglected(call: Call): boolean {
    return call.handle.isNeglected ?? this.#isNeglectful;
  }

  /** After an answer that is not the end of the first call: whoever goes on with it does so later. */
  #leave(first: Pending, answer: number): void {
    const { call } = first;
    first.pace ??= this.#newPace(call);
    first.pace.leave(answer);
    first.isBroken = answer !== status.slice && answer !== status.waiting;
    if (first.isBroken) this.#handOver();
    else if (this.#isNeglected(call)) {
      this.#handOver();
      const left = performance.now();
      setImmediate(() => this.#noteNeglect(call, isBusy(performance.now() - left)));
    }
  }

  #noteNeglect(call: Call, isNeglected: boolean): void {
    call.handle.isNeglected = isNeglected;
    this.#isNeglectful = isNeglected;
  }

  #handOver(): void {
    for (let first = this.#held[0]; first; first = this.#held[0]) {
      try {
        if (!this.#submit(first)) return;
        this.#held.shift();
      } catch (error) {
        this.#drop(first, error);
      }
    }
  }

  /** @returns false where it has to wait. @throws ValueError where its memory was taken away while it did */
  #submit(pending: Pending): boolean {
    const { call, number, isBroken } = pending;
    const { handle } = call.handle;
    if (!isBroken && lostRank(call, 1) !== undefined) throw this.#lose(call);
    if (!isBroken && !this.#binding.stage(this.#group, handle)) return false;
    try {
      this.#binding.submit(this.#group, handle, number, millisLeftOf(pending));
      this.#handedOver++;
    } catch (error) {
      this.#binding.finish(this.#group, handle, false);
      throw error;
    }
    return true;
  }

  /** Takes the first call out that was not handed over. */
  #drop(first: Pending, error?: unknown): void {
    this.#held.shift();
    this.#forget(first);
    if (error === undefined) first.resolve();
    else first.reject(error);
  }

  /** Ends the group, because a call that may have begun cannot go on. */
  #lose(call: Call): CollError {
    const error = this.#lost(call);
    this.#owner.fail('failed', `cannot go on: ${error.message}`);
    return error;
  }

  #take(pending: Pending, answer: number): void {
    const { call, number, options } = pending;
    if (answer !== status.done && answer !== status.failed) {
      this.#owner.end(answer, call);
      this.#binding.submit(this.#group, call.handle.handle, number, 0);
      return;
    }
    this.#handedOver--;
    const isLost = lostRank(call, 1) !== undefined;
    this.#finish(pending, answer === status.done && !isLost);
    if (answer === status.failed) pending.reject(this.#owner.failureOf(call, number, options.signal));
    else if (isLost) pending.reject(this.#lost(call));
    else pending.resolve();
  }

  #finish(pending: Pending, delivers: boolean): void {
    this.#binding.finish(this.#group, pending.call.handle.handle, delivers);
    this.#forget(pending);
  }

  #forget({ abort, number, options }: Pending): void {
    if (abort) options.signal?.removeEventListener('abort', abort);
    this.#pending.delete(number);
    this.#stallWatch?.look();
  }

  #lost(call: Call): CollError {
    return lostBufferError(operationOf(call), this.#owner.rank);
  }

  #first() {
    const [first] = this.#pending.values();
    return first && { number: first.number, operation: operationOf(first.call) };
  }
}

/** The time that a call has; 0: for ever. */
export function millisOf({ timeoutSeconds }: RunOptions): number {
  return timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds * 1000 : 0;
}

// None would be for ever.
const leastMillis = 0.001;

function millisLeftOf({ options, pace }: Pending): number {
  const millis = millisOf(options);
  return millis && Math.max(millis - (pace?.elapsedMillis ?? 0), leastMillis);
}

function isLate(pending: Pending): boolean {
  return millisLeftOf(pending) === leastMillis;
}
