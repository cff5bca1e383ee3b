import type { EngineRequest } from '@coll/core';

export type Framework = 'jax-js' | 'tfjs';

export interface Settings {
  readonly framework: Framework;
  readonly replicas: number;
  readonly ops: string;
  readonly engine: EngineRequest;
  readonly epochs: number;
  readonly batchSize: number;
  readonly samples: number;
  readonly seed: number;
  /** Whether the results are printed as one line of JSON. */
  readonly json: boolean;
  /** Of several workers: whether they may be on different hosts, although nothing is encrypted. */
  readonly insecure: boolean;
}

export const algorithms: readonly string[];
export const frameworks: readonly Framework[];
export class BadUsage extends Error {}
export function settingsFrom(args: readonly string[]): Settings | undefined;
export function settingsOrExit(args: readonly string[]): Settings;
