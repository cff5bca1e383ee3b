import { currentFrame, type FrameReplica, type FrameStrategy } from './contexts.js';

/**
 * Makes a call that all replicas, or all workers, make. Its error counts as a refused call of the
 * replica or worker that made it, because the others wait in this call, or have made it. An error
 * that the collectives of the call have already counted does not count again.
 */
export function countingRefusals<Result>(strategy: FrameStrategy, call: () => Result): Result {
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
export function refused(strategy: FrameStrategy, error: unknown, context?: FrameReplica): unknown {
  const frame = currentFrame();
  const replica = frame ? frame.replica : context;
  if (replica?.strategy === strategy) replica.refuse?.(error);
  else strategy.extended.workers.refuse(error);
  return error;
}

/** Whether other replicas or workers make the calls of the running code, too. */
function canDiffer({ extended }: FrameStrategy): boolean {
  return extended.workers.size > 1 || currentFrame()?.replica !== undefined;
}
