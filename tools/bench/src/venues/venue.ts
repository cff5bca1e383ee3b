import type { EngineName, PackingOptions } from '@coll/core';
import type { AlgorithmName } from '../algorithms.js';
import type { Effort, Measurement } from '../measurement.js';
import type { Trial } from '../trial.js';

/** Where trials are run, for one number of ranks. Threads and memory stay until it is closed. */
export interface Venue {
  /** One measurement a trial, in order. @throws WrongResultError, and whatever the calls throw */
  measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]>;
  close(): Promise<void>;
}

/** What a thread is told to measure. */
export interface Order {
  readonly trial: Trial;
  readonly effort: Effort;
}

/** The names of the devices of that many ranks. */
export function devicesOf(ranks: number): string[] {
  return Array.from({ length: ranks }, (_, rank) => `cpu:${rank}`);
}

/** The engine of ours that a trial asks for, and what it plays. */
export function playedBy({ engine, algorithm = 'direct' }: Trial): readonly [EngineName, AlgorithmName] {
  if (engine === 'native' || engine === 'wasm' || engine === 'js') return [engine, algorithm];
  throw new TypeError(`${engine} is no engine of ours`);
}

/** The options of the ops that a trial is about. */
export function packingOf({ work }: Trial): PackingOptions {
  return (work.type === 'batch' && work.packing) || {};
}
