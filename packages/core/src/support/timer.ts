/** The longest timer in milliseconds (24 days); longer ones fire at once. */
export const longestTimer = 2 ** 31 - 1;

/**
 * Calls `act` after `seconds`, or after `longestTimer` if that is sooner; never if `seconds` is
 * undefined, null or ≤ 0. Returns a function that cancels the call.
 */
export function afterSeconds(seconds: number | null | undefined, act: () => void): () => void {
  if (!seconds || seconds <= 0) return () => {};
  const timer = setTimeout(act, Math.min(seconds * 1000, longestTimer));
  return () => clearTimeout(timer);
}
