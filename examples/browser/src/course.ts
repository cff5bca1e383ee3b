/** Units of the layers of the model: about 235,000 parameters together. */
export const units = [784, 256, 128, 10] as const;

/** Digits of one step, over all replicas. Divisible by 1 to 6, 8, 10 and 12 replicas. */
export const batchSize = 240;

/** The page shows the result of each round, and pauses between rounds. */
export const stepsPerRound = 8;
export const rounds = 40;

export const digitsPerRound = batchSize * stepsPerRound;

/** SGD with momentum. */
export const rate = 0.1;
export const momentum = 0.9;

/** Arrays of kernels, one row per input, and of biases: layer after layer. */
export type Weights = readonly Float32Array[];

/** What a replica tells the page after each step. */
export interface StepReport {
  /** From 1, over all rounds. */
  readonly step: number;
  /** The mean over all replicas. */
  readonly loss: number;
}
