import type { CollError } from '@coll/core';
import { lostBufferError, lostRank, operationOf, type PreparedCall } from '@coll/core/plugin';
import { type CallTiming, leastMillis } from './call-timing.js';
import type { ProcessCall } from './process-calls.js';

type Call = PreparedCall<ProcessCall>;

/** The parameters of a `PendingCall`. */
export interface PendingCallInit {
  readonly call: Call;
  /** Sequence number of the call in its group. */
  readonly number: number;
  /** Timeout of the call in milliseconds; 0 means no limit. */
  readonly millis: number;
  readonly signal: AbortSignal | undefined;
  /** Called when the signal aborts while the call is pending. */
  readonly abort: () => void;
  /** Called when the call has ended without error. Default: nothing */
  readonly done?: (pending: PendingCall) => void;
}

/** An asynchronous call that has not ended yet. */
export class PendingCall {
  readonly call: Call;
  readonly number: number;
  /** Number of the call in the recorder of this thread; undefined if there is none. */
  readonly recorded: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly ended: Promise<void>;
  /** Timing of the call; undefined until the call has begun in this thread. */
  pace: CallTiming | undefined;
  /**
   * Number of input and output bytes to copy; 0 until the group's background thread takes over the
   * call.
   */
  copiedBytes = 0;
  /**
   * Whether the call can no longer move data. The group's background thread then takes over the
   * call to find out why.
   */
  isBroken = false;
  readonly #millis: number;
  readonly #abort: () => void;
  readonly #done: PendingCallInit['done'];
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor({ call, number, millis, signal, abort, done }: PendingCallInit) {
    this.call = call;
    this.number = number;
    this.recorded = call.recordedNumber;
    this.signal = signal;
    this.#millis = millis;
    this.#abort = abort;
    this.#done = done;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    signal?.addEventListener('abort', abort);
  }

  get operation(): string {
    return operationOf(this.call);
  }

  /** Milliseconds until the call times out; 0 means no limit. */
  get millisLeft(): number {
    return this.#millis && Math.max(this.#millis - (this.pace?.elapsedMillis ?? 0), leastMillis);
  }

  get isLate(): boolean {
    return this.millisLeft === leastMillis;
  }

  /** Whether the program has transferred (detached) a buffer of the call. */
  get isLost(): boolean {
    return lostRank(this.call, 1) !== undefined;
  }

  /** Makes the error for a call of which a buffer was transferred. */
  lostError(rank: number): CollError {
    return lostBufferError(this.operation, rank);
  }

  resolve(): void {
    this.#unwatch();
    this.#done?.(this);
    this.#resolve();
  }

  reject(error: unknown): void {
    this.#unwatch();
    this.#reject(error);
  }

  #unwatch(): void {
    this.signal?.removeEventListener('abort', this.#abort);
  }
}
