/**
 * Waits for all started work, even if some fails, because the rest still uses the caller's memory.
 * @throws the error of the first failed promise in the list
 */
export function untilAllHaveEnded(started: readonly Promise<void>[]): Promise<void> {
  return started.length === 1 ? (started[0] as Promise<void>) : allEnded(started);
}

async function allEnded(started: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(started)).find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}
