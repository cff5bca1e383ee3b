import type { ReplicaContext } from '@coll/strategy';
import type { Digits } from './digits.ts';

export interface Course {
  readonly seed: number;
  readonly epochs: number;
  readonly stepsPerEpoch: number;
  /** Samples of one step, over all replicas. */
  readonly batchSize: number;
}

/** A model that reads digits: a multi-layer perceptron. */
export interface Model {
  /**
   * Trains on this replica's part of the digits.
   * @param onStep called after each step with the mean loss of all replicas
   */
  train(digits: Digits, onStep: (loss: number) => void): Promise<void>;
  /** The number of digits that the model classifies correctly. */
  countCorrect(digits: Digits): Promise<number>;
  /** All weights, one after the other. */
  weights(): Promise<Float32Array>;
}

export type BuildModel = (course: Course, context: ReplicaContext) => Promise<Model>;

/** Units of the layers: about a million parameters together. */
export const units = [784, 832, 416, 10] as const;

/** SGD with momentum. */
export const rate = 0.1;
export const momentum = 0.9;
