import type { Round } from './schedule.js';

/**
 * What a round does to one chunk of rank `to`: it combines the chunks of the ranks `operands` in
 * this order, or copies the chunk of a single rank.
 */
export interface Step {
  readonly to: number;
  readonly chunk: number;
  readonly operands: readonly number[];
}

/**
 * The steps of a round, one per chunk of a rank that the round writes. Operands are in the order
 * that `Round` specifies.
 *
 * @example
 * ```ts
 * import { stepsOf } from '@coll/core/plugin';
 *
 * const round = [1, 2].map((from) => ({ from, to: 0, chunk: 0, reduce: true }));
 * console.log(stepsOf(round)); // [ { to: 0, chunk: 0, operands: [ 0, 1, 2 ] } ]
 * ```
 */
export function stepsOf(round: Round): Step[] {
  const steps = new Map<number, Step & { readonly operands: number[] }>();
  for (const { from, to, chunk, reduce } of round) {
    const key = to * mostChunks + chunk;
    const known = steps.get(key);
    if (known) known.operands.push(from);
    else steps.set(key, { to, chunk, operands: reduce ? [to, from] : [from] });
  }
  for (const { operands } of steps.values()) operands.sort((a, b) => a - b);
  return [...steps.values()];
}

// Of a schedule that `verify` accepts.
const mostChunks = 2 ** 26;
