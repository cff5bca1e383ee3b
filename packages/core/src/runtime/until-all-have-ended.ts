/**
 * Waits for all started work, even if some fails, because the rest still uses the caller's memory.
 * @throws the error of the first failed promise in the list
 */
export async function untilAllHaveEnded(started: readonly Promise<void>[]): Promise<void> {
  if (started.length === 1) return started[0];
  const failed = (await Promise.allSettled(started)).find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}
