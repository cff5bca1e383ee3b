import type { Expectation } from './expectation.js';

/** Facts that a step found, as they are stored in the report. */
export type Facts = Readonly<Record<string, unknown>>;

/** The result of a step. The step fails if an expectation is not met. */
export interface Findings {
  readonly facts: Facts;
  readonly expectations?: readonly Expectation[];
}

/** A check that runs in its own process, because it may hang. */
export interface Step {
  /** The statement that is true if the step passes. */
  readonly claim: string;
  /** The time limit. */
  readonly seconds: number;
  /** Whether the step measures times, which are meaningless on a test double. */
  readonly isBenchmark?: boolean;
  /**
   * Throws if the check fails, or `NotHere` if this machine lacks something. `seconds`: the remaining time,
   * which may be less than the limit.
   */
  run(seconds: number): Promise<Findings>;
  /** The work of each of two processes with ranks 0 and 1 on the same GPU, for steps that have them. */
  readonly rank?: (rank: number, store: string) => Promise<Facts>;
}

/** The machine lacks something that a step needs. This is not a failure. */
export class NotHere extends Error {
  override readonly name = 'NotHere';
}

/** An error of another process. */
export interface ReportedError {
  readonly name: string;
  readonly code?: string;
  readonly message: string;
}

export function inWords({ name, code, message }: ReportedError): string {
  return `${code ? `${name} ${code}` : name}: ${message}`;
}

export interface StepResult extends Partial<Findings> {
  readonly step: string;
  readonly claim: string;
  /** `dry`: the step ran on test doubles, and its figures were dropped. */
  readonly outcome: 'passed' | 'failed' | 'not run' | 'dry';
  readonly seconds: number;
  /** Why the step failed, or why it was not run. */
  readonly reason?: string;
}
