import type { GradientMemory } from './gradient-memory.js';

/**
 * Scales the means of all gradients in place, so that their global norm is `limit` at most. The
 * means are equal on all replicas, so they stay equal without a collective.
 */
export function clipByGlobalNorm(means: readonly (GradientMemory | undefined)[], limit: number): void {
  let squares = 0;
  for (const mean of means) if (mean) squares += squaresOf(mean.output);
  const norm = Math.sqrt(squares);
  // NaN and infinity stay, so that they are not hidden.
  if (!(norm > limit) || norm === Number.POSITIVE_INFINITY) return;
  const factor = limit / norm;
  for (const mean of means) {
    if (!mean) continue;
    const { output } = mean;
    for (let at = 0; at < output.length; at++) output[at] = (output[at] as number) * factor;
  }
}

function squaresOf(values: Float32Array): number {
  let squares = 0;
  for (let at = 0; at < values.length; at++) squares += (values[at] as number) * (values[at] as number);
  return squares;
}
