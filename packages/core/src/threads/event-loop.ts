/** Lets the event loop do what else there is to do: at once where the platform can, in some milliseconds in browsers that cannot. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => later(resolve));
}

const { setImmediate: soon } = globalThis as { setImmediate?: (callback: () => void) => unknown };
const later: (callback: () => void) => unknown = soon ?? ((callback) => setTimeout(callback));
