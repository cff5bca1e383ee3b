/**
 * The promise of every collective that ended while it was called. Who gets it can go on without
 * waiting, and without promises of their own.
 */
export const endedAtOnce: Promise<void> = Promise.resolve();

/**
 * Waits for all started work, even if some fails, because the rest still uses the caller's memory.
 * @throws the error of the first failed promise in the list
 */
export function untilAllHaveEnded(started: readonly Promise<void>[]): Promise<void> {
  if (started.length === 1) return started[0] as Promise<void>;
  return started.every((one) => one === endedAtOnce) ? endedAtOnce : allEnded(started);
}

async function allEnded(started: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(started)).find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}
