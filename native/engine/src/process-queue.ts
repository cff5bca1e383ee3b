import type { CollError, RunOptions } from '@coll/core';
import { closedError, type KnownCall, lostBufferError, lostRank, operationOf } from '@coll/core/executor';
import { status } from './native-binding.js';
import type { GroupHandle, ProcessBinding } from './process-binding.js';
import type { ProcessCall } from './process-calls.js';
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

/** A call that the group's own thread plays. */
interface Pending {
  readonly call: Call;
  readonly number: number;
  readonly options: RunOptions;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  readonly abort: (() => void) | undefined;
}

/**
 * The calls that the group's thread plays, one after the other. It plays them in memory of ours, in place of memory that a program can take away
 * meanwhile: inputs are copied when a call is handed to it, results when that is over.
 */
export class ProcessQueue {
  readonly #binding: ProcessBinding;
  readonly #group: GroupHandle;
  readonly #owner: QueueOwner;
  readonly #pending = new Map<number, Pending>();
  /** Those of them that were not handed over yet, since one before gives what they take. */
  readonly #held: Pending[] = [];
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

  /** Puts a call behind all others; `number`: of the group's calls. */
  add(call: Call, number: number, options: RunOptions): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const abort = signal && (() => this.#owner.fail('aborted', `aborted: ${signal.reason}`));
      if (abort) signal.addEventListener('abort', abort);
      const pending = { call, number, options, resolve, reject, abort };
      this.#pending.set(number, pending);
      this.#held.push(pending);
      this.#handOver();
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
    this.#handOver();
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

  #handOver(): void {
    for (let first = this.#held[0]; first; first = this.#held[0]) {
      try {
        if (!this.#submit(first)) return;
      } catch (error) {
        this.#forget(first);
        first.reject(error);
      }
      this.#held.shift();
    }
  }

  /** @returns false where it has to wait. @throws ValueError where its memory was taken away while it did */
  #submit({ call, number, options }: Pending): boolean {
    const { handle } = call.handle;
    if (lostRank(call, 1) !== undefined) {
      const error = this.#lost(call);
      this.#owner.fail('failed', `cannot go on: ${error.message}`);
      throw error;
    }
    if (!this.#binding.stage(this.#group, handle)) return false;
    try {
      this.#binding.submit(this.#group, handle, number, millisOf(options));
    } catch (error) {
      this.#binding.finish(this.#group, handle, false);
      throw error;
    }
    return true;
  }

  #take(pending: Pending, answer: number): void {
    const { call, number, options } = pending;
    if (answer !== status.done && answer !== status.failed) {
      this.#owner.end(answer, call);
      this.#binding.submit(this.#group, call.handle.handle, number, 0);
      return;
    }
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
