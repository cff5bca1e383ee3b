/** The longest timer in milliseconds (24 days); longer ones fire at once. */
export const longestTimer = 2 ** 31 - 1;

/**
 * Calls back after `seconds`, or after the longest timer if that is shorter; never for undefined,
 * null and ≤ 0. Returns a function that cancels it.
 */
export function afterSeconds(seconds: number | null | undefined, act: () => void): () => void {
  if (!seconds || seconds <= 0) return () => {};
  const timer = setTimeout(act, Math.min(seconds * 1000, longestTimer));
  return () => clearTimeout(timer);
}
