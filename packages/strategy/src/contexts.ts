import { AsyncLocalStorage } from 'node:async_hooks';
import { RuntimeError } from '@coll/core';
import type { ReplicaContext } from './replica-context.js';
import type { Strategy } from './strategy.js';

/** Where code runs: under which strategy, and in which of its replicas; in none, it is in cross-replica context. */
interface Frame {
  readonly strategy: Strategy;
  readonly replica?: ReplicaContext;
}

const frames = new AsyncLocalStorage<Frame>();

// What holds outside of every scope: the strategy set for the whole program, else the default one and its only replica.
let globalStrategy: Strategy | undefined;
let defaultFrame: Frame | undefined;

/** Called once by the module that defines the default strategy. */
export function setDefaultFrame(strategy: Strategy, replica: ReplicaContext): void {
  defaultFrame = { strategy, replica };
}

function currentFrame(): Frame {
  const outside = globalStrategy ? { strategy: globalStrategy } : (defaultFrame as Frame);
  return frames.getStore() ?? outside;
}

/** The strategy in whose scope or replica this code runs; the default strategy outside of all. */
export function getStrategy(): Strategy {
  return currentFrame().strategy;
}

/** Whether a strategy other than the default one is in charge. */
export function hasStrategy(): boolean {
  return getStrategy() !== defaultFrame?.strategy;
}

/** The replica in which this code runs; undefined in cross-replica context. */
export function getReplicaContext(): ReplicaContext | undefined {
  return currentFrame().replica;
}

/** Whether this code runs for all replicas together. */
export function inCrossReplicaContext(): boolean {
  return getReplicaContext() === undefined;
}

/**
 * Puts a strategy in charge of everything outside of scopes; undefined takes it away.
 * @throws RuntimeError inside a scope
 */
export function experimentalSetStrategy(strategy: Strategy | undefined): void {
  if (frames.getStore())
    throw new RuntimeError('ERR_COLL_CONTEXT', 'experimentalSetStrategy must not be called inside a strategy scope');
  globalStrategy = strategy === defaultFrame?.strategy ? undefined : strategy;
}

/** Runs code in cross-replica context. @throws RuntimeError inside a replica or another strategy's scope */
export function runInScope<Result>(strategy: Strategy, code: () => Result): Result {
  requireScopeCanBegin(strategy);
  return frames.run({ strategy }, code);
}

/** Begins a scope that ends when the result is disposed of. @throws as `runInScope` */
export function enterScope(strategy: Strategy): Disposable {
  requireScopeCanBegin(strategy);
  const before = frames.getStore();
  frames.enterWith({ strategy });
  return { [Symbol.dispose]: () => frames.enterWith(before as Frame) };
}

/** Runs code as a replica. */
export function runInReplica<Result>(replica: ReplicaContext, code: () => Result): Result {
  return frames.run({ strategy: replica.strategy, replica }, code);
}

/** Runs what a replica's merge call asked for, in cross-replica context. */
export function runInMerge<Result>(strategy: Strategy, code: () => Result): Result {
  return frames.run({ strategy }, code);
}

/** @throws RuntimeError in a replica, or while another strategy than this one and the default one is in charge */
export function requireCrossReplica(strategy: Strategy, method: string): void {
  const frame = currentFrame();
  if (frame.strategy !== strategy && frame !== defaultFrame) throw mixing(strategy, method);
  if (frame.replica && frame !== defaultFrame) {
    const cure = 'use the replica context (allReduce, allGather, mergeCall) inside of replica functions';
    throw new RuntimeError('ERR_COLL_CONTEXT', `${method} requires being in cross-replica context: ${cure}`, {
      operation: method,
    });
  }
}

/** @throws RuntimeError unless this code runs in that replica */
export function requireReplica(replica: ReplicaContext, method: string): void {
  const current = getReplicaContext();
  if (current === replica) return;
  if (!current)
    throw new RuntimeError(
      'ERR_COLL_CONTEXT',
      `${method} must be called inside a replica function, not in cross-replica context`,
      { operation: method },
    );
  if (current.strategy !== replica.strategy) throw mixing(replica.strategy, method);
  const told = `${method} was called on replica ${replica.replicaIdInSyncGroup} from replica ${current.replicaIdInSyncGroup}; each uses its own context`;
  throw new RuntimeError('ERR_COLL_CONTEXT', told, { operation: method });
}

function requireScopeCanBegin(strategy: Strategy): void {
  const frame = frames.getStore();
  if (!frame) return;
  if (frame.replica)
    throw new RuntimeError(
      'ERR_COLL_CONTEXT',
      'scope requires being in cross-replica context: it was entered inside a replica function',
    );
  if (strategy === defaultFrame?.strategy) {
    throw new RuntimeError(
      'ERR_COLL_CONTEXT',
      'Must not nest the scope of the default strategy inside that of another one',
    );
  }
  if (frame.strategy !== strategy) throw mixing(strategy, 'scope');
}

function mixing(strategy: Strategy, method: string): RuntimeError {
  const other = getStrategy().constructor.name;
  return new RuntimeError(
    'ERR_COLL_CONTEXT',
    `Mixing different strategies: ${method} of a ${strategy.constructor.name} was called under another ${other}`,
    {
      operation: method,
    },
  );
}
