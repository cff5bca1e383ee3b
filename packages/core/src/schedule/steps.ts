import type { Round } from './schedule.js';

/** A chunk of a rank becoming something else in a round: a combination of ranks' chunks in this order, or a copy of one. */
export interface Step {
  readonly to: number;
  readonly chunk: number;
  readonly operands: readonly number[];
}

/** What a round does to each place that it writes, in the order of arithmetic that `Round` promises. */
export function stepsOf(round: Round): Step[] {
  const steps = new Map<string, Step & { readonly operands: number[] }>();
  for (const { from, to, chunk, reduce } of round) {
    const key = `${to} ${chunk}`;
    const known = steps.get(key);
    if (known) known.operands.push(from);
    else steps.set(key, { to, chunk, operands: reduce ? [to, from] : [from] });
  }
  for (const { operands } of steps.values()) operands.sort((a, b) => a - b);
  return [...steps.values()];
}
