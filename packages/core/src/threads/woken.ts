/**
 * Resolves after a notification at `index`, or `millis` milliseconds. Firefox before version 145 has
 * no `Atomics.waitAsync`: there, it resolves after a turn of the event loop.
 */
export async function woken(words: Int32Array, index: number, seen: number, millis: number): Promise<void> {
  if (!Atomics.waitAsync) return new Promise((resolve) => setTimeout(resolve, 0));
  const waiting = Atomics.waitAsync(words, index, seen, millis);
  if (waiting.async) await waiting.value;
}
