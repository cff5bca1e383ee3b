import { type Collective, opOf } from '../collectives/collective.js';
import { linear, type Move } from './linear.js';
import type { Algorithm } from './schedule.js';

/**
 * The same algorithm, which also moves what it has no schedule for: a collective without an op that it refuses is played by `linear`. There is no
 * arithmetic in these, so that any algorithm may be played for the rest.
 */
export function withMoves(algorithm: Algorithm): Algorithm {
  const isMoved = (collective: Collective, ranks: number): collective is Move =>
    opOf(collective) === undefined && algorithm.refuses?.(collective, ranks) !== undefined;
  return {
    name: algorithm.name,
    refuses: (collective, ranks) => (isMoved(collective, ranks) ? undefined : algorithm.refuses?.(collective, ranks)),
    plan: (collective, ranks) =>
      isMoved(collective, ranks) ? linear(collective, ranks) : algorithm.plan(collective, ranks),
  };
}
