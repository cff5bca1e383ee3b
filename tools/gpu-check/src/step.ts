import type { Expectation } from './expectation.js';

/** What a step found: facts, in the form in which they are kept. */
export type Facts = Readonly<Record<string, unknown>>;

/** What a step found, and what it was to find: it fails where an expectation is not met. */
export interface Findings {
  readonly facts: Facts;
  readonly expectations?: readonly Expectation[];
}

/** A check, in a process of its own, which may hang. */
export interface Step {
  /** What it shows when it passes. */
  readonly claim: string;
  /** After so long it has failed. */
  readonly seconds: number;
  /** It measures: figures of a test double would mean nothing. */
  readonly isBenchmark?: boolean;
  /** Fails by throwing; a `NotHere` says that this machine has nothing to run it with. `seconds`: what there is for it, which may be less. */
  run(seconds: number): Promise<Findings>;
  /** What each of its processes does, for a step that has some: rank 0 and 1 on the same GPU. */
  readonly rank?: (rank: number, store: string) => Promise<Facts>;
}

/** What a step would need is not on this machine, and need not be. */
export class NotHere extends Error {
  override readonly name = 'NotHere';
}

/** An error of another process. */
export interface ErrorTold {
  readonly name: string;
  readonly code?: string;
  readonly message: string;
}

export function inWords({ name, code, message }: ErrorTold): string {
  return `${code ? `${name} ${code}` : name}: ${message}`;
}

export interface StepResult extends Partial<Findings> {
  readonly step: string;
  readonly claim: string;
  /** `dry`: it went through on test doubles, and its figures were thrown away. */
  readonly outcome: 'passed' | 'failed' | 'not run' | 'dry';
  readonly seconds: number;
  /** Why it failed, or was not run. */
  readonly reason?: string;
}
