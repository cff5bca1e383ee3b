import type { RunFigures } from '@coll/strategy/internal';

/** One run of a replica module with a number of replicas. */
export interface TriedRun {
  /** The URL of the replica module. */
  readonly module: string;
  readonly args: readonly unknown[];
  readonly replicas: number;
  /** How long steps are made, the warm-up included. */
  readonly seconds: number;
  /** Seconds within which the first step must be made. */
  readonly timeoutSeconds: number;
}

/** What was measured in one run. */
export interface RunResult extends RunFigures {
  readonly replicas: number;
  /** How many cores the process kept busy. */
  readonly coresBusy: number;
  /** The part of all cores that other programs used, from 0 to 1. */
  readonly foreign: number;
  /** The most memory that the process held. */
  readonly memoryBytes: number;
  /** Whether the module returned before the time was over. */
  readonly endedEarly: boolean;
}

/** How a run ended: with a result, or with the message of an error. */
export type RunOutcome = { readonly result: RunResult } | { readonly failure: string };

export function replicasText(replicas: number): string {
  return replicas === 1 ? '1 replica' : `${replicas} replicas`;
}
