import { abortedError, lostBufferError } from './call-errors.js';
import { operationOf } from './caller-request.js';
import type { RunOptions } from './communicator.js';
import { DeadlineExceededError } from './errors.js';
import { type KnownCall, lostRank } from './threads/known-calls.js';

/**
 * Whether a call of ranks in one hand may go on after other code has run; `deadline` in the time of `Date.now()`.
 * @throws AbortedError, DeadlineExceededError; ValueError where its memory was given away
 */
export function requireGoing(
  call: KnownCall<unknown>,
  ranks: number,
  { signal }: RunOptions,
  deadline: number | undefined,
): void {
  const operation = operationOf(call);
  if (signal?.aborted) throw abortedError('while it was under way', signal, { operation });
  if (deadline !== undefined && Date.now() >= deadline) {
    const told = `${operation}: timed out while it was under way`;
    throw new DeadlineExceededError('ERR_COLL_DEADLINE', told, { operation });
  }
  const rank = lostRank(call, ranks);
  if (rank !== undefined) throw lostBufferError(operation, rank);
}
