/**
 * Yields to the event loop: immediately where the platform can, otherwise (some browsers) for a few
 * milliseconds.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => later(resolve));
}

const { setImmediate: soon } = globalThis as { setImmediate?: (callback: () => void) => unknown };
const later: (callback: () => void) => unknown = soon ?? ((callback) => setTimeout(callback));
