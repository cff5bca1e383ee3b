import { ValueError } from '@coll/core';
import type { TfOptimizer } from './tensorflow.js';

/** The settings of an optimizer that change its learning rate. */
interface WithLearningRate {
  learningRate: number;
  /** Steps that the optimizer has made, those before it was restored included. */
  readonly iterations?: number;
  /** Optimizers that keep the learning rate as a tensor, too, have this method. */
  setLearningRate?(learningRate: number): void;
}

/** How the learning rate of a step differs from the setting of the optimizer. */
export interface LearningRateOptions {
  /** Steps over which it grows linearly; 0 for none. */
  readonly warmUpSteps: number;
  /** What it is multiplied by. */
  readonly scale: number;
}

/** Applies gradients with a learning rate that the number of the step determines. */
export class LearningRate {
  readonly #optimizer: WithLearningRate;
  readonly #options: LearningRateOptions;
  #steps = 0;

  /** @throws ValueError unless the optimizer has a learning rate */
  constructor(optimizer: TfOptimizer, options: LearningRateOptions) {
    this.#optimizer = optimizer as TfOptimizer & WithLearningRate;
    this.#options = options;
    if (typeof this.#optimizer.learningRate === 'number') return;
    const message = 'warmUpSteps and scaleLearningRate need an optimizer with a number learningRate';
    throw new ValueError('ERR_COLL_VALUE', `distributedOptimizer: ${message}`);
  }

  /**
   * Calls `apply` with the learning rate of the present step. Between steps the optimizer has its own
   * setting, which callbacks can read and change, and which is saved.
   */
  during(apply: () => void): void {
    const { warmUpSteps, scale } = this.#options;
    const step = (this.#optimizer.iterations ?? this.#steps) + 1;
    this.#steps += 1;
    const factor = scale * (step < warmUpSteps ? step / warmUpSteps : 1);
    const { learningRate } = this.#optimizer;
    if (factor !== 1) this.#set(learningRate * factor);
    try {
      apply();
    } finally {
      if (factor !== 1) this.#set(learningRate);
    }
  }

  #set(learningRate: number): void {
    if (this.#optimizer.setLearningRate) this.#optimizer.setLearningRate(learningRate);
    else this.#optimizer.learningRate = learningRate;
  }
}
