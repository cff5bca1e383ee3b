import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { currentFrame, setOutside } from './contexts.js';
import { defaultReplica, defaultStrategy } from './default-strategy.js';
import type { ReplicaContext } from './replica-context.js';
import { Strategy } from './strategy.js';

/** The strategy in whose scope or replica this code runs, or else the default strategy. */
export function getStrategy(): Strategy {
  return currentFrame()?.strategy ?? defaultStrategy;
}

/** Whether a strategy other than the default one is active. */
export function hasStrategy(): boolean {
  return getStrategy() !== defaultStrategy;
}

/** The replica in which this code runs; undefined in cross-replica context. */
export function getReplicaContext(): ReplicaContext | undefined {
  const frame = currentFrame();
  return frame ? frame.replica : defaultReplica;
}

/** Whether this code runs in cross-replica context. */
export function inCrossReplicaContext(): boolean {
  return getReplicaContext() === undefined;
}

/**
 * Activates a strategy outside of all scopes; null deactivates it.
 * @throws RuntimeError inside a scope or a replica; ValueError unless it is a strategy
 */
export function experimentalSetStrategy(strategy: Strategy | null | undefined): void {
  if (strategy && !(strategy instanceof Strategy)) {
    const told = `experimentalSetStrategy takes a strategy, or null for none, not ${quote(strategy)}`;
    throw new ValueError('ERR_COLL_VALUE', told);
  }
  setOutside(strategy && strategy !== defaultStrategy ? { strategy } : undefined);
}
