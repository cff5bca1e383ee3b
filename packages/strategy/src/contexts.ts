import { AsyncLocalStorage } from 'node:async_hooks';
import { RuntimeError } from '@coll/core';
import { findCurrentReplica } from '@coll/core/internal';
import type { ReplicaContext } from './replica-context.js';
import type { Strategy } from './strategy.js';

/** Where code runs: under which strategy, and in which of its replicas; in none, it is in cross-replica context. */
export interface Frame {
  readonly strategy: Strategy;
  readonly replica?: ReplicaContext;
  /** In an update of a variable, across the replicas: which of its components it is. */
  readonly update?: number;
}

/** A frame that ends when its scope is disposed of; code that still carries it is then in the outer one. */
interface ScopeFrame extends Frame {
  readonly outer: Frame | undefined;
  isOver: boolean;
}

const frames = new AsyncLocalStorage<Frame | ScopeFrame>();

// What holds outside of every scope, if not the default strategy: the one set for the whole program, or a thread's replica.
let outside: Frame | undefined;

// Distributed values stand for the component of the replica or update that asks.
findCurrentReplica(() => {
  return componentHere(currentFrame());
});

/** Where this code runs; undefined under the default strategy. */
export function currentFrame(): Frame | undefined {
  return scopeFrame() ?? outside;
}

/** Which of the components that live here code at that place is about: that of its replica or update; undefined across the replicas. */
export function componentHere(frame: Frame | undefined): number | undefined {
  return frame?.replica ? localIdOf(frame.replica) : frame?.update;
}

/** The number of a replica among those that live here, with its worker. */
export function localIdOf({ replicaIdInSyncGroup, strategy }: ReplicaContext): number {
  return replicaIdInSyncGroup - strategy.extended.firstReplica;
}

/** Says what holds outside of every scope; undefined: the default strategy. @throws RuntimeError inside a scope */
export function setOutside(frame: Frame | undefined): void {
  if (scopeFrame() || outside?.replica) {
    throw new RuntimeError(
      'ERR_COLL_CONTEXT',
      'experimentalSetStrategy must not be called inside a strategy scope or a replica',
    );
  }
  outside = frame;
}

/** Runs code in cross-replica context. @throws RuntimeError inside a replica or another strategy's scope */
export function runInScope<Result>(strategy: Strategy, code: () => Result): Result {
  requireScopeCanBegin(strategy);
  return runAcross(strategy, code);
}

/** Begins a scope that ends when the result is disposed of. @throws as `runInScope` */
export function enterScope(strategy: Strategy): Disposable {
  requireScopeCanBegin(strategy);
  const frame: ScopeFrame = { strategy, outer: scopeFrame(), isOver: false };
  frames.enterWith(frame);
  return {
    [Symbol.dispose]: () => {
      frame.isOver = true;
    },
  };
}

/** Runs code as a replica. */
export function runInReplica<Result>(replica: ReplicaContext, code: () => Result): Result {
  return frames.run({ strategy: replica.strategy, replica }, code);
}

/** Runs code for all replicas together, also from inside one: what a merge call asks for. */
export function runAcross<Result>(strategy: Strategy, code: () => Result): Result {
  return frames.run({ strategy }, code);
}

/** Runs code for one component of a variable, across the replicas. */
export function runInUpdate<Result>(strategy: Strategy, update: number, code: () => Result): Result {
  return frames.run({ strategy, update }, code);
}

/** @throws RuntimeError in a replica, or while another strategy than this one and the default one is in charge */
export function requireCrossReplica(strategy: Strategy, method: string): void {
  const frame = currentFrame();
  if (!frame) return;
  if (frame.strategy !== strategy) throw mixing(strategy, method, frame.strategy);
  if (!frame.replica) return;
  const cure = 'use the replica context (allReduce, allGather, mergeCall) inside of replica functions';
  throw new RuntimeError('ERR_COLL_CONTEXT', `${method} requires being in cross-replica context: ${cure}`, {
    operation: method,
  });
}

/** @throws RuntimeError unless this code runs in that replica */
export function requireReplica(replica: ReplicaContext, method: string): void {
  const frame = currentFrame();
  if (frame?.replica === replica) return;
  if (frame && frame.strategy !== replica.strategy) throw mixing(replica.strategy, method, frame.strategy);
  const here = frame?.replica?.replicaIdInSyncGroup;
  const told =
    here === undefined
      ? `${method} must be called inside a replica function, not in cross-replica context`
      : `${method} was called on replica ${replica.replicaIdInSyncGroup} from replica ${here}; each uses its own context`;
  throw new RuntimeError('ERR_COLL_CONTEXT', told, { operation: method });
}

export function mixing(strategy: Strategy, method: string, inCharge: Strategy): RuntimeError {
  const told = `${method} of a ${strategy.constructor.name} was called while another ${inCharge.constructor.name} is in charge`;
  return new RuntimeError('ERR_COLL_CONTEXT', `Mixing different strategies: ${told}`, { operation: method });
}

function scopeFrame(): Frame | undefined {
  let frame = frames.getStore();
  while (frame && 'isOver' in frame && frame.isOver) frame = frame.outer;
  return frame;
}

function requireScopeCanBegin(strategy: Strategy): void {
  const frame = currentFrame();
  if (frame?.replica) {
    throw new RuntimeError(
      'ERR_COLL_CONTEXT',
      'scope requires being in cross-replica context: it was entered inside a replica function',
    );
  }
  if (frame && frame.strategy !== strategy) throw mixing(strategy, 'scope', frame.strategy);
}
