import type { EngineCandidate } from '../engines/engine.js';

/** What a `CrossDeviceOps` does and why, for people. */
export interface Explanation {
  readonly name: string;
  /** What does its arithmetic: `native`, `wasm`, `js`. */
  readonly engine: string;
  /** Who was asked to, the fastest first, and why those before the chosen one refused; nobody where a group of processes plays. */
  readonly engines: readonly EngineCandidate[];
  /** What did not go the way it was asked for, such as a fallback, each said once. */
  readonly notes: readonly string[];
}
