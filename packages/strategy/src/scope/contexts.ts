import { RuntimeError } from '@coll/core';
import { findCurrentReplica } from '@coll/core/internal';
import { host } from '../host.js';
import type { WorkerGroup } from './worker-group.js';

/** What this module needs to know about a strategy. Every one is a `Strategy`, which imports this module. */
export interface FrameStrategy {
  readonly extended: { readonly firstReplica: number; readonly workers: WorkerGroup };
}

/** What this module needs to know about a replica. Every one is a `ReplicaContext`. */
export interface FrameReplica {
  readonly strategy: FrameStrategy;
  readonly replicaIdInSyncGroup: number;
  /** Counts a call that the replica has refused with `error`. */
  refuse?(error: unknown): void;
}

/** The strategy and replica of running code. Code without a replica is in cross-replica context. */
export interface Frame {
  readonly strategy: FrameStrategy;
  readonly replica?: FrameReplica;
  /**
   * The index of the component that is being updated; only in a cross-replica update of a variable.
   */
  readonly update?: number;
}

/**
 * A frame that ends when its scope is disposed of. Asynchronous code that still has this frame then
 * uses the outer frame.
 */
interface ScopeFrame extends Frame {
  readonly outer: Frame | undefined;
  isOver: boolean;
}

const frames = host.createContext<Frame | ScopeFrame>();

/** Number of scopes, merge calls and updates in this thread that have not ended. */
let open = 0;

// The frame outside of all scopes: the strategy set for the whole program, or a thread's replica.
// Undefined under the default strategy.
let outside: Frame | undefined;

// Lets distributed values return the component of the replica or update that reads them.
findCurrentReplica(() => {
  return componentHere(currentFrame());
});

/** The frame of the calling code; undefined under the default strategy. */
export function currentFrame(): Frame | undefined {
  return scopeFrame() ?? outside;
}

/**
 * The index, among the components in this process, of the one that code in this frame uses: that of
 * the frame's replica or update; undefined in cross-replica context.
 */
export function componentHere(frame: Frame | undefined): number | undefined {
  return frame?.replica ? localIdOf(frame.replica) : frame?.update;
}

/** The index of a replica among the replicas of its worker. */
export function localIdOf({ replicaIdInSyncGroup, strategy }: FrameReplica): number {
  return replicaIdInSyncGroup - strategy.extended.firstReplica;
}

/**
 * Sets the frame of code outside of all scopes; undefined means the default strategy.
 * @throws RuntimeError inside a scope
 */
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
export function runInScope<Result>(strategy: FrameStrategy, code: () => Result): Result {
  requireScopeCanBegin(strategy);
  return runAcross(strategy, code);
}

/**
 * Begins a scope that ends when the result is disposed of.
 * @throws the errors of `runInScope`
 */
export function enterScope(strategy: FrameStrategy): Disposable {
  requireScopeCanBegin(strategy);
  const frame: ScopeFrame = { strategy, outer: scopeFrame(), isOver: false };
  frames.enterWith(frame);
  open += 1;
  return {
    [Symbol.dispose]: () => {
      if (!frame.isOver) end();
      frame.isOver = true;
    },
  };
}

/** Runs code as a replica. */
export function runInReplica<Result>(replica: FrameReplica, code: () => Result): Result {
  return runWith({ strategy: replica.strategy, replica }, code);
}

/** Runs code in cross-replica context. Merge calls use this inside replicas. */
export function runAcross<Result>(strategy: FrameStrategy, code: () => Result): Result {
  return runWith({ strategy }, code);
}

/** Runs code for one component of a variable, in cross-replica context. */
export function runInUpdate<Result>(strategy: FrameStrategy, update: number, code: () => Result): Result {
  return runWith({ strategy, update }, code);
}

function runWith<Result>(frame: Frame, code: () => Result): Result {
  open += 1;
  let result: Result | undefined;
  try {
    result = frames.run(frame, code);
    return result;
  } finally {
    if (result instanceof Promise) result.then(end, end);
    else end();
  }
}

/**
 * Ends a scope, merge call or update. While the storage of frames is in use, each promise costs
 * more, even in code without a frame. In a replica's thread the frame outside of all scopes is that
 * of the replica, so the storage is needed only until the last of them has ended.
 */
function end(): void {
  open -= 1;
  if (open === 0 && outside?.replica) frames.disable();
}

/** @throws RuntimeError in a replica, or while a strategy other than this one and the default one is active */
export function requireCrossReplica(strategy: FrameStrategy, method: string): void {
  const frame = currentFrame();
  if (!frame) return;
  if (frame.strategy !== strategy) throw mixing(strategy, method, frame.strategy);
  if (!frame.replica) return;
  const advice = 'inside replica functions use the replica context (allReduce, allGather, mergeCall)';
  throw new RuntimeError('ERR_COLL_CONTEXT', `${method} requires being in cross-replica context: ${advice}`, {
    operation: method,
  });
}

/** @throws RuntimeError unless this code runs in that replica */
export function requireReplica(replica: FrameReplica, method: string): void {
  const frame = currentFrame();
  if (frame?.replica === replica) return;
  // A replica that has awaited, in the thread of a page.
  if (!frame && !host.followsPromises) return;
  if (frame && frame.strategy !== replica.strategy) throw mixing(replica.strategy, method, frame.strategy);
  const here = frame?.replica?.replicaIdInSyncGroup;
  const message =
    here === undefined
      ? `${method} must be called inside a replica function, not in cross-replica context`
      : `${method} was called on the context of replica ${replica.replicaIdInSyncGroup} by replica ${here}; each replica must use its own context`;
  throw new RuntimeError('ERR_COLL_CONTEXT', message, { operation: method });
}

export function mixing(strategy: FrameStrategy, method: string, inCharge: FrameStrategy): RuntimeError {
  const message = `${method} of a ${strategy.constructor.name} was called in the scope of another ${inCharge.constructor.name}`;
  return new RuntimeError('ERR_COLL_CONTEXT', `Mixing different strategies: ${message}`, { operation: method });
}

function scopeFrame(): Frame | undefined {
  let frame = frames.getStore();
  while (frame && 'isOver' in frame && frame.isOver) frame = frame.outer;
  return frame;
}

function requireScopeCanBegin(strategy: FrameStrategy): void {
  const frame = currentFrame();
  if (frame?.replica) {
    throw new RuntimeError(
      'ERR_COLL_CONTEXT',
      'scope requires being in cross-replica context: it was entered inside a replica function',
    );
  }
  if (frame && frame.strategy !== strategy) throw mixing(strategy, 'scope', frame.strategy);
}
