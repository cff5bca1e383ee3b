import { abortedError, lostBufferError } from '../collectives/call-errors.js';
import { operationOf } from '../collectives/caller-request.js';
import { DeadlineExceededError } from '../support/errors.js';
import { allRanks } from '../support/ranks.js';
import { lostRank, type PreparedCall } from './call-cache.js';
import type { RunOptions } from './communicator.js';
import { nextTurn } from './event-loop.js';
import { OrderedCommunicator } from './ordered-communicator.js';
import { deadlineOf } from './run-options.js';

/**
 * A communicator of ranks in one thread. An asynchronous call that takes more than a millisecond
 * yields to the event loop about every millisecond. It rejects early if its signal aborts, its
 * deadline passes, or its memory is detached.
 */
export abstract class ControllerCommunicator<Handle> extends OrderedCommunicator<Handle> {
  constructor(size: number) {
    super(size, allRanks(size));
  }

  /** The position at which a prepared call is complete, in the same unit as the positions of `workFrom`. */
  protected abstract endOf(handle: Handle): number;

  /**
   * Works on a prepared call for about a millisecond, from position `begin` on.
   * @returns the position at which it stopped
   */
  protected abstract workFrom(handle: Handle, begin: number): number;

  protected executeSync({ handle }: PreparedCall<Handle>): void {
    let at = 0;
    do at = this.workFrom(handle, at);
    while (at < this.endOf(handle));
  }

  protected override execute(call: PreparedCall<Handle>, options: RunOptions): Promise<void> | undefined {
    const at = this.workFrom(call.handle, 0);
    return at < this.endOf(call.handle) ? this.goOn(call, at, options) : undefined;
  }

  protected override executeLater(call: PreparedCall<Handle>, options: RunOptions): Promise<void> {
    return this.goOn(call, 0, options);
  }

  protected override async release(running: Promise<unknown> | undefined): Promise<void> {
    await running?.catch(() => {});
  }

  /** Completes a call, with about a millisecond of work per turn of the event loop. */
  protected async goOn(call: PreparedCall<Handle>, begin: number, options: RunOptions): Promise<void> {
    const deadline = deadlineOf(options);
    let at = begin;
    do {
      if (at > 0) await nextTurn();
      this.#requireGoing(call, options.signal, deadline);
      at = this.workFrom(call.handle, at);
    } while (at < this.endOf(call.handle));
  }

  /**
   * Checks whether a call may continue after other code has run on the event loop. `deadline` is a
   * time of `Date.now()`.
   * @throws the failure of the group; AbortedError, DeadlineExceededError; ValueError if memory of
   * the call was detached or resized
   */
  #requireGoing(call: PreparedCall<Handle>, signal: AbortSignal | undefined, deadline: number | undefined): void {
    const operation = operationOf(call);
    if (this.group.failure) throw this.group.failure;
    if (signal?.aborted) throw abortedError('while it was under way', signal, { operation });
    if (deadline !== undefined && Date.now() >= deadline) {
      const message = `${operation}: timed out during the call`;
      throw new DeadlineExceededError('ERR_COLL_DEADLINE', message, { operation });
    }
    const rank = lostRank(call, this.size);
    if (rank !== undefined) throw lostBufferError(operation, rank);
  }
}
