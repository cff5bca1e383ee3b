/**
 * A function that declares a test, such as `test` of vitest or of node:test. The test may return a
 * promise.
 */
export type DeclareTest = (name: string, run: () => void | Promise<void>) => unknown;
