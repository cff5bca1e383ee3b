import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { currentFrame, setOutside } from './contexts.js';
import { defaultReplica, defaultStrategy } from './default-strategy.js';
import type { ReplicaContext } from './replica-context.js';
import { Strategy } from './strategy.js';

/** The strategy in whose scope or replica this code runs; the default strategy outside of all. */
export function getStrategy(): Strategy {
  return currentFrame()?.strategy ?? defaultStrategy;
}

/** Whether a strategy other than the default one is in charge. */
export function hasStrategy(): boolean {
  return getStrategy() !== defaultStrategy;
}

/** The replica in which this code runs; undefined in cross-replica context. */
export function getReplicaContext(): ReplicaContext | undefined {
  const frame = currentFrame();
  return frame ? frame.replica : defaultReplica;
}

/** Whether this code runs for all replicas together. */
export function inCrossReplicaContext(): boolean {
  return getReplicaContext() === undefined;
}

/**
 * Puts a strategy in charge of everything outside of scopes; null takes it away.
 * @throws RuntimeError inside a scope or a replica; ValueError for what is no strategy
 */
export function experimentalSetStrategy(strategy: Strategy | null | undefined): void {
  if (strategy && !(strategy instanceof Strategy)) {
    const told = `experimentalSetStrategy takes a strategy, or null for none, not ${quote(strategy)}`;
    throw new ValueError('ERR_COLL_VALUE', told);
  }
  setOutside(strategy && strategy !== defaultStrategy ? { strategy } : undefined);
}
