import type { EngineName, PackingOptions } from '@coll/core';
import type { AlgorithmName } from '../algorithms.js';
import type { Effort, Measurement } from '../measurement.js';
import type { Trial } from '../trial.js';

/** Where trials are measured, for a number of ranks. Threads and memory are kept until it is closed. */
export interface Venue {
  /**
   * Measures trials, and returns a measurement for each, in their order. @throws WrongResultError, and the
   * errors of the calls
   */
  measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]>;
  close(): Promise<void>;
}

/** The order to measure a trial. */
export interface Order {
  readonly trial: Trial;
  readonly effort: Effort;
}

/** The device names of `ranks` ranks. */
export function devicesOf(ranks: number): string[] {
  return Array.from({ length: ranks }, (_, rank) => `cpu:${rank}`);
}

/** The engine and the algorithm of a trial of coll. */
export function executedBy({ engine, algorithm = 'direct' }: Trial): readonly [EngineName, AlgorithmName] {
  if (engine === 'native' || engine === 'wasm' || engine === 'js') return [engine, algorithm];
  throw new TypeError(`${engine} is no engine of ours`);
}

/** The packing options of a trial's ops. */
export function packingOf({ work }: Trial): PackingOptions {
  return (work.type === 'batch' && work.packing) || {};
}
