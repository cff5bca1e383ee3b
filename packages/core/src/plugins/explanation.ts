import type { EngineCandidate } from '../engines/engine.js';

/** What a `CrossDeviceOps` does and why, for display. */
export interface Explanation {
  readonly name: string;
  /** The engine that does the arithmetic: `native`, `wasm`, `js`, or another name. */
  readonly engine: string;
  /**
   * Engines that were considered, fastest first, and why those before the chosen one refused. Empty
   * if a group of processes executes the collectives.
   */
  readonly engines: readonly EngineCandidate[];
  /** Deviations from the request, such as a fallback, each listed once. */
  readonly notes: readonly string[];
}
