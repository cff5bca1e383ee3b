import { afterEach, beforeEach, expect } from 'vitest';

/** Lets every test of a file fail after which a promise was rejected that nobody handles: in a program it would end the process. */
export function expectNoUnhandledRejections(): void {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  beforeEach(() => {
    unhandled.length = 0;
    process.on('unhandledRejection', note);
  });
  afterEach(async () => {
    // Node reports them after the microtasks.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
}
