import { currentFrame } from './contexts.js';
import type { ReplicaContext } from './replica-context.js';
import type { Strategy } from './strategy.js';

/** A replica that counts the calls it has refused. */
interface Counting {
  refuse(error: unknown): void;
}

/**
 * Makes a call that all replicas, or all workers, make. Its error counts as a refused call of the
 * replica or worker that made it, because the others wait in this call, or have made it. An error
 * that the collectives of the call have already counted does not count again.
 */
export function countingRefusals<Result>(strategy: Strategy, call: () => Result): Result {
  let result: Result;
  try {
    result = call();
  } catch (error) {
    throw refused(strategy, error);
  }
  if (!(result instanceof Promise) || !canDiffer(strategy)) return result;
  return result.catch((error: unknown) => {
    throw refused(strategy, error);
  }) as Result;
}

/**
 * Counts a call that was refused with `error`, for the replica that made it, or else for this worker.
 * `context` is the replica whose context the call used, which counts if the caller is unknown.
 * Returns the error.
 */
export function refused(strategy: Strategy, error: unknown, context?: ReplicaContext): unknown {
  const frame = currentFrame();
  const replica = frame ? frame.replica : context;
  if (replica?.strategy === strategy) (replica as Partial<Counting>).refuse?.(error);
  else strategy.extended.workers.refuse(error);
  return error;
}

/** Whether other replicas or workers make the calls of the running code, too. */
function canDiffer({ extended }: Strategy): boolean {
  return extended.workers.size > 1 || currentFrame()?.replica !== undefined;
}
