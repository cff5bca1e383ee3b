import type { EngineCandidate } from '../runtime/engine.js';

/** How a `CrossDeviceOps` executes collectives and why, for display. */
export interface Explanation {
  readonly name: string;
  /** The engine that does the arithmetic: `native`, `wasm`, `js`, or another name. */
  readonly engine: string;
  /**
   * Engines that were considered, fastest first, each with the reason if it was refused. Empty if a
   * group of processes executes the collectives.
   */
  readonly engines: readonly EngineCandidate[];
  /** Deviations from the request, such as a fallback, each listed once. */
  readonly notes: readonly string[];
}
