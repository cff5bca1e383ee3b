import type { CollError } from '@coll/core';
import { resumed } from '@coll/core/internal';
import type { PreparedCall } from '@coll/core/plugin';
import { status } from '@coll/native/addon';
import type { PendingCall } from './pending-call.js';
import type { GroupHandle, ProcessBinding } from './process-binding.js';
import type { ProcessCall } from './process-calls.js';

type Call = PreparedCall<ProcessCall>;

// Upper bound of the input and output bytes of all waiting calls. Copying them blocks the event
// loop for an eighth of a second at worst, and needs as many bytes of memory.
const mostCopiedBytes = 2 ** 27;

/** The group that owns the background thread. */
export interface ThreadOwner {
  readonly rank: number;
  /** Ends the group with the error of a failed call; `answer` is the status from native code. */
  end(answer: number, call: Call): void;
  /** Makes the error for a failed call. */
  failureOf(call: Call, number: number, signal: AbortSignal | undefined): CollError;
}

/**
 * The calls that a group's background thread executes in order. The thread works on copies, because
 * the program may transfer its memory in the meantime: inputs are copied when the thread takes over
 * a call, and results when the call has ended.
 */
export class ProgressThread {
  readonly #binding: ProcessBinding;
  readonly #group: GroupHandle;
  readonly #owner: ThreadOwner;
  readonly #calls = new Map<number, PendingCall>();
  #copiedBytes = 0;

  constructor(binding: ProcessBinding, group: GroupHandle, owner: ThreadOwner) {
    this.#binding = binding;
    this.#group = group;
    this.#owner = owner;
  }

  get isIdle(): boolean {
    return this.#calls.size === 0;
  }

  /** The call that the thread executes; undefined if there is none. */
  get first(): PendingCall | undefined {
    const [first] = this.#calls.values();
    return first;
  }

  /**
   * Moves a call to the group's background thread.
   * @returns false if the call must wait for earlier ones
   * @throws Error if memory or a thread is missing, after which the group has failed
   */
  take(pending: PendingCall): boolean {
    const { call, number, isBroken } = pending;
    const { handle } = call.handle;
    const bytes = isBroken ? 0 : this.#binding.copiedBytes(this.#group, handle);
    if (!this.isIdle && this.#copiedBytes + bytes > mostCopiedBytes) return false;
    if (!isBroken && !this.#binding.stage(this.#group, handle)) return false;
    try {
      resumed(pending.recorded, () => this.#binding.submit(this.#group, handle, number, pending.millisLeft));
    } catch (error) {
      this.#binding.finish(this.#group, handle, false);
      throw error;
    }
    this.#calls.set(number, pending);
    this.#copiedBytes += bytes;
    pending.copiedBytes = bytes;
    return true;
  }

  /** Settles the calls that have ended. */
  settle(): void {
    const results = this.#binding.results(this.#group);
    for (let at = 0; at < results.length; at += 2) {
      const pending = this.#calls.get(results[at] as number);
      if (pending) this.#settle(pending, results[at + 1] as number);
    }
  }

  /** Gives up all calls, because the group has stopped. Returns these calls. */
  release(): readonly PendingCall[] {
    const calls = [...this.#calls.values()];
    for (const pending of calls) this.#finish(pending, false);
    return calls;
  }

  #settle(pending: PendingCall, answer: number): void {
    const { call, number, signal, isLost } = pending;
    if (answer !== status.done && answer !== status.failed) {
      this.#owner.end(answer, call);
      this.#binding.submit(this.#group, call.handle.handle, number, 0);
      return;
    }
    this.#finish(pending, answer === status.done && !isLost);
    if (answer === status.failed) pending.reject(this.#owner.failureOf(call, number, signal));
    else if (isLost) pending.reject(pending.lostError(this.#owner.rank));
    else pending.resolve();
  }

  #finish({ call, number, copiedBytes }: PendingCall, delivers: boolean): void {
    this.#calls.delete(number);
    this.#copiedBytes -= copiedBytes;
    this.#binding.finish(this.#group, call.handle.handle, delivers);
  }
}
