/** What a step found: facts, in the form in which they are kept. */
export type Facts = Readonly<Record<string, unknown>>;

/** A check, in a process of its own, which may hang. */
export interface Step {
  /** What it shows when it passes. */
  readonly claim: string;
  /** After so long it has failed. */
  readonly seconds: number;
  /** It measures: figures of a test double would mean nothing. */
  readonly isBenchmark?: boolean;
  /** Fails by throwing. */
  run(): Promise<Facts>;
  /** What each of two processes does, for a step that has some: rank 0 and 1 on the same GPU. */
  readonly rank?: (rank: number, store: string) => Promise<Facts>;
}

export interface StepResult {
  readonly step: string;
  readonly claim: string;
  readonly outcome: 'passed' | 'failed' | 'not run';
  readonly seconds: number;
  /** Why it failed, or was not run. */
  readonly reason?: string;
  readonly facts?: Facts;
}
