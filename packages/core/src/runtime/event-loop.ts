/**
 * Yields to the event loop for a single turn, or for a few milliseconds if the platform has no
 * `setImmediate` (browsers).
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => later(resolve));
}

const { setImmediate: soon } = globalThis as { setImmediate?: (callback: () => void) => unknown };
const later: (callback: () => void) => unknown = soon ?? ((callback) => setTimeout(callback));
