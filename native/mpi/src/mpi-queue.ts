import type { CollError, RunOptions } from '@coll/core';
import { type Failure, failureError, failureOf, failureReasons, messageOf, purposeName } from '@coll/core/internal';
import {
  abortedError,
  busyError,
  closedError,
  lostBufferError,
  lostRank,
  operationOf,
  type PreparedCall,
} from '@coll/core/plugin';
import { disagreementOf, failureFrom } from './failures.js';
import { type GroupHandle, type MpiBinding, type PlanHandle, status } from './mpi-binding.js';

export type Call = PreparedCall<PlanHandle>;

/** A call that has not ended yet. */
interface Pending {
  readonly call: Call;
  readonly options: RunOptions;
  readonly number: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  readonly stop: () => void;
}

/** A member's part of a group, and the defaults of its calls. */
export interface MpiQueueOptions {
  readonly binding: MpiBinding;
  readonly group: GroupHandle;
  readonly rank: number;
  readonly size: number;
  /** Timeout in milliseconds of calls without one; 0 means no limit. */
  readonly defaultMillis: number;
  /** Whether ranks compare each call, instead of the first one of each shape. */
  readonly checkCalls: boolean;
}

// Small calls usually end within this time, in microseconds. Handing them to another thread takes longer.
const patienceMicros = 60;
// From this many bytes on, a call would block the event loop for too long.
const mostBytesHere = 2 ** 22;
const bytesPerMicro = 2000;

/**
 * Executes the calls of one member in order, one at a time. A call begins in the calling thread; if
 * it does not end soon, the addon's own thread continues it.
 */
export class MpiQueue {
  readonly rank: number;
  readonly size: number;
  readonly #binding: MpiBinding;
  // Cached, because a binding with many functions needs a table look-up per call.
  readonly #runSync: MpiBinding['runSync'];
  readonly #group: GroupHandle;
  readonly #defaultMillis: number;
  readonly #checkCalls: boolean;
  readonly #waiting: Pending[] = [];
  /** The call that the addon executes. */
  #running: Pending | undefined;
  #calls = 0;
  #isClosed = false;
  #isHeld = false;
  /** The error of calls that differed between ranks, which all ranks throw. */
  #disagreement: CollError | undefined;

  constructor({ binding, group, rank, size, defaultMillis, checkCalls }: MpiQueueOptions) {
    this.rank = rank;
    this.size = size;
    this.#binding = binding;
    this.#runSync = binding.runSync;
    this.#group = group;
    this.#defaultMillis = defaultMillis;
    this.#checkCalls = checkCalls;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Executes a call, blocking the calling thread. */
  executeSync(call: Call, options: RunOptions): void {
    this.#requireOpen(call);
    if (this.#running || this.#waiting.length > 0) throw busyError(this.#detailsOf(call));
    const number = this.#calls++;
    const { timeoutSeconds } = options;
    const millis = timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds * 1000 : this.#defaultMillis;
    let answer = this.#runSync(this.#group, call.handle, millis, this.#isChecked(options));
    // V8 terminates a thread only where a JavaScript function begins.
    while (answer === status.pending) answer = this.#binding.wait(this.#group);
    if (answer !== status.done) throw this.#errorOf(answer, call, number, undefined);
  }

  /**
   * Begins a call, or queues it behind earlier ones.
   * @returns undefined if the call has already ended
   */
  execute(call: Call, options: RunOptions): Promise<void> | undefined {
    this.#requireOpen(call);
    const number = this.#calls++;
    if (!this.#running && this.#waiting.length === 0) {
      const answer = this.#begin(call, options);
      if (answer === status.done) return undefined;
      if (answer !== status.pending) throw this.#errorOf(answer, call, number, options.signal);
    }
    return new Promise<void>((resolve, reject) => {
      const { signal } = options;
      const abort = () => this.fail('aborted', `aborted: ${messageOf(signal?.reason)}`);
      signal?.addEventListener('abort', abort);
      const stop = () => signal?.removeEventListener('abort', abort);
      const pending = { call, options, number, resolve, reject, stop };
      if (this.#running || this.#waiting.length > 0) {
        this.#waiting.push(pending);
      } else {
        this.#running = pending;
        this.#hold(true);
      }
    });
  }

  /** Settles the call that the addon has ended, and begins the next ones. */
  settle(): void {
    while (this.#running) {
      const answer = this.#binding.status(this.#group);
      if (answer === status.pending) return;
      this.#settle(this.#running, answer);
      this.#running = undefined;
      this.#advance();
    }
  }

  /** Ends the group for all members. For `text` and `ranks`, see `Failure`. */
  fail(reason: Failure['reason'], text: string, ranks: readonly number[] = []): void {
    this.#fail({ reason, rank: this.rank, ranks, text }, true);
  }

  /** Ends the group for all members with an error that occurred outside of the group's calls. */
  failWith(error: CollError): void {
    this.#fail(failureOf(error, this.rank), true);
  }

  /** The error with which the group has failed; `operation` names the call that throws it. */
  failure(operation = 'group'): CollError | undefined {
    const failure = this.#isClosed ? undefined : this.#binding.failure(this.#group);
    if (!failure) return undefined;
    return this.#disagreement ?? failureError(failureFrom(failure), { operation, size: this.size });
  }

  /** Leaves the group. Pending calls fail. */
  close(): void {
    if (this.#isClosed) return;
    this.#binding.leave(this.#group);
    this.#isClosed = true;
    for (const pending of [...(this.#running ? [this.#running] : []), ...this.#waiting.splice(0)]) {
      if (pending === this.#running) this.#keep(pending.call);
      pending.stop();
      pending.reject(closedError(this.#detailsOf(pending.call)));
    }
    this.#running = undefined;
    this.#hold(false);
  }

  #advance(): void {
    while (!this.#running) {
      const next = this.#waiting.shift();
      if (!next) {
        this.#hold(false);
        return;
      }
      const { call, options } = next;
      if (lostRank(call, 1) !== undefined) {
        next.stop();
        next.reject(this.#lose(call));
        continue;
      }
      const answer = this.#begin(call, options);
      if (answer === status.pending) this.#running = next;
      else this.#settle(next, answer);
    }
  }

  /**
   * Whether ranks compare a call, on a communicator of its own. A call that the library makes for
   * itself is always compared, so that a call of a program with the same shape waits for it instead
   * of adding up.
   */
  #isChecked({ checkCalls, request }: RunOptions): boolean {
    return checkCalls === true || this.#checkCalls || purposeName(request?.purpose) !== undefined;
  }

  #begin(call: Call, options: RunOptions): number {
    const { timeoutSeconds } = options;
    const millis = timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds * 1000 : this.#defaultMillis;
    const patience = call.bytes > mostBytesHere ? 0 : patienceMicros + call.bytes / bytesPerMicro;
    return this.#binding.run(this.#group, call.handle, millis, this.#isChecked(options), patience);
  }

  #settle({ call, options, number, resolve, reject, stop }: Pending, answer: number): void {
    stop();
    if (answer !== status.done) reject(this.#errorOf(answer, call, number, options.signal));
    else if (lostRank(call, 1) !== undefined) reject(this.#lose(call));
    else resolve();
  }

  #errorOf(answer: number, call: Call, number: number, signal: AbortSignal | undefined): CollError {
    this.#keep(call);
    if (answer === status.disagreed) {
      const announced = this.#binding.announcements(this.#group);
      this.#disagreement ??= disagreementOf(announced, this.size, call.request?.ranks);
      // The other ranks have found the same.
      this.#fail(failureOf(this.#disagreement, this.rank), false);
      return this.#disagreement;
    }
    const failure = failureFrom(this.#binding.failure(this.#group) as NonNullable<ReturnType<MpiBinding['failure']>>);
    if (failure.reason === 'aborted' && signal?.aborted)
      return abortedError('while it was under way', signal, this.#detailsOf(call));
    if (this.#disagreement && failure.text === this.#disagreement.message) return this.#disagreement;
    const where = ` (collective ${number} of the group)`;
    return failureError(failure, { operation: operationOf(call), where, size: this.size });
  }

  /** Keeps the memory of a call that MPI may still write to. */
  #keep(call: Call): void {
    if (this.#binding.keepsMemory(this.#group)) abandoned.push(call);
  }

  #lose(call: Call): CollError {
    const error = lostBufferError(operationOf(call), this.rank);
    this.fail('failed', `cannot continue: ${error.message}`);
    return error;
  }

  #fail({ reason, rank, ranks, text }: Failure, tells: boolean): void {
    if (this.#isClosed) return;
    this.#binding.fail(this.#group, failureReasons.indexOf(reason), rank, ranks, text, tells);
    // The addon ends the running call; those behind it would find the failure only in their turn.
    if (!this.#running) this.#advance();
  }

  #hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#binding.hold(this.#group, isHeld);
  }

  #requireOpen(call: Call): void {
    if (this.#isClosed) throw closedError(this.#detailsOf(call));
  }

  #detailsOf(call: Call) {
    return { operation: operationOf(call), rank: this.rank };
  }
}

// MPI cannot cancel a collective, so its memory is never freed.
const abandoned: Call[] = [];
