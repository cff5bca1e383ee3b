import type { CollError } from '@coll/core';
import type { KnownCall } from '@coll/core/plugin';
import { status } from '@coll/native/addon';
import type { PendingCall } from './pending-call.js';
import type { GroupHandle, ProcessBinding } from './process-binding.js';
import type { ProcessCall } from './process-calls.js';

type Call = KnownCall<ProcessCall>;

// Of all calls that wait together, in and out. Copying takes an eighth of a second at worst, in which the event loop stands still, and memory in which they play.
const mostCopiedBytes = 2 ** 27;

/** Whose thread it is. */
export interface ThreadOwner {
  readonly rank: number;
  /** Ends the group for what the engine found out about a call. */
  end(answer: number, call: Call): void;
  /** Why a call failed. */
  failureOf(call: Call, number: number, signal: AbortSignal | undefined): CollError;
}

/**
 * The calls of a group that its own thread plays, one after the other. It plays them in memory of ours, in place of memory that a program can take away
 * meanwhile: inputs are copied when a call is handed over, results when that is over.
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

  /** The call that it plays now. */
  get first(): PendingCall | undefined {
    const [first] = this.#calls.values();
    return first;
  }

  /** Takes a call over. @returns false where that has to wait for calls before. @throws Error where there is no memory for it, or no thread: the group has failed */
  take(pending: PendingCall): boolean {
    const { call, number, isBroken } = pending;
    const { handle } = call.handle;
    const bytes = isBroken ? 0 : this.#binding.copiedBytes(this.#group, handle);
    if (!this.isIdle && this.#copiedBytes + bytes > mostCopiedBytes) return false;
    if (!isBroken && !this.#binding.stage(this.#group, handle)) return false;
    try {
      this.#binding.submit(this.#group, handle, number, pending.millisLeft);
    } catch (error) {
      this.#binding.finish(this.#group, handle, false);
      throw error;
    }
    this.#calls.set(number, pending);
    this.#copiedBytes += bytes;
    pending.copiedBytes = bytes;
    return true;
  }

  /** Takes up what has ended. */
  settle(): void {
    const results = this.#binding.results(this.#group);
    for (let at = 0; at < results.length; at += 2) {
      const pending = this.#calls.get(results[at] as number);
      if (pending) this.#settle(pending, results[at + 1] as number);
    }
  }

  /** Lets go of all, when the group has stopped. */
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
