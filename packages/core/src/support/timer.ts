/** The longest time of a timer, in milliseconds, which is 24 days: those of more are over at once. */
export const longestTimer = 2 ** 31 - 1;

/**
 * Calls back after so many seconds, or after the longest time of a timer; never for null, 0 and less, and what is absent. Returns what ends the waiting.
 */
export function afterSeconds(seconds: number | null | undefined, act: () => void): () => void {
  if (!seconds || seconds <= 0) return () => {};
  const timer = setTimeout(act, Math.min(seconds * 1000, longestTimer));
  return () => clearTimeout(timer);
}
