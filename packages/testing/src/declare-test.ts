/** Declares a test, as `test` of vitest and of node:test do; the test may return a promise. */
export type DeclareTest = (name: string, run: () => void | Promise<void>) => unknown;
