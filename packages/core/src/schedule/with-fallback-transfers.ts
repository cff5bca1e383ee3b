import { type Collective, opOf } from '../collectives/collective.js';
import { linear, type Move } from './linear.js';
import type { Algorithm } from './schedule.js';

/**
 * The same algorithm, extended to moves: a collective without an op that it refuses is executed by
 * `linear`. Moves involve no arithmetic, so any algorithm can do the rest.
 */
export function withFallbackTransfers(algorithm: Algorithm): Algorithm {
  const isMoved = (collective: Collective, ranks: number): collective is Move =>
    opOf(collective) === undefined && algorithm.refuses?.(collective, ranks) !== undefined;
  return {
    name: algorithm.name,
    refuses: (collective, ranks) => (isMoved(collective, ranks) ? undefined : algorithm.refuses?.(collective, ranks)),
    plan: (collective, ranks) =>
      isMoved(collective, ranks) ? linear(collective, ranks) : algorithm.plan(collective, ranks),
  };
}
