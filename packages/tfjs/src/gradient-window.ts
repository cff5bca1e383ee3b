import type { GradientMemory } from './gradient-memory.js';

/** Gradients of the latest steps of this replica that have not been averaged over all replicas. */
export class GradientWindow {
  /** How many steps there are. */
  steps = 0;
  /** Samples of all these steps. A step with an unknown number counts as one. */
  samples = 0;
  /** The largest number of variables of a step that are not in the list. */
  newcomers = 0;
  /** Sums over all samples, by the position of the variable in its list. */
  readonly #sums: (Float32Array | undefined)[] = [];

  /** Adds the gradients of a step. @param samples number of samples that they are the mean of */
  add(gradients: readonly (GradientMemory | undefined)[], samples: number, newcomers: number): void {
    this.steps += 1;
    this.samples += samples;
    this.newcomers = Math.max(this.newcomers, newcomers);
    if (samples === 0) return;
    for (const [index, gradient] of gradients.entries()) {
      if (!gradient) continue;
      const { input } = gradient;
      const sum = this.#sums[index] ?? new Float32Array(input.length);
      for (let at = 0; at < input.length; at++) sum[at] = (sum[at] as number) + samples * (input[at] as number);
      this.#sums[index] = sum;
    }
  }

  /** The means over all samples, in place of the sums, which ends the window. @param variables how many the list has */
  means(variables: number): (GradientMemory | undefined)[] {
    return Array.from({ length: variables }, (_, index) => {
      const sum = this.#sums[index];
      if (!sum) return undefined;
      for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] as number) / this.samples;
      return { input: sum, output: sum };
    });
  }
}
