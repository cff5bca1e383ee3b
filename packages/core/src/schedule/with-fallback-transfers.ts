import { type Collective, opOf } from '../collectives/collective.js';
import { linear, type Move } from './linear.js';
import type { Algorithm } from './schedule.js';

/**
 * An algorithm with the schedules of `algorithm`, and with `linear` schedules for the collectives
 * without an op that `algorithm` refuses. Such collectives need no arithmetic, so `linear` fits any
 * algorithm. The result has no `stream` and no `variants`.
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
