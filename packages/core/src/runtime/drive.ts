import type { CallerRequest } from '../collectives/caller-request.js';
import type { Collective } from '../collectives/collective.js';
import { CollError, RuntimeError, UnavailableError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import type { Communicator, PersistentCollective, RunOptions, Segments, ValuePart } from './communicator.js';
import { setRunOptions } from './run-options.js';
import { untilAllHaveEnded } from './until-all-have-ended.js';

/** One collective on the buffers of the local ranks. */
export interface Run {
  readonly collective: Collective;
  readonly inputs: readonly Segments[];
  readonly outputs: readonly Segments[];
  /** Hash of the dtypes and shapes packed into the buffers. Must be equal on all ranks. */
  readonly layout?: number | undefined;
  /** How many values the call has, for errors, as in `RunOptions`. */
  readonly valueCount?: number | undefined;
  /** The values in the buffers, as in `RunOptions`. */
  readonly values?: readonly ValuePart[] | undefined;
  /** The call that this collective is a part of, for errors. Default: the collective itself. */
  readonly request?: CallerRequest | undefined;
  /** All options of the collective. Default: those of the call, with `layout` and `request`. */
  readonly options?: RunOptions | undefined;
  /** The collective, prepared for repetitions. Undefined if it is made once. */
  readonly persistent?: PersistentCollective | undefined;
}

/**
 * Work that must be awaited, such as a call of other cross-device ops. `options` contain the turn
 * of the enclosing work.
 */
export type AsyncStep<Result = unknown> = (options: RunOptions) => Promise<Result>;

/**
 * A generator that yields lists of runs (collectives), or asynchronous steps. The runs of a list
 * may overlap; the generator resumes when all of them have ended. After a step, it resumes with the
 * step's result.
 */
export type Phases<Result> = Generator<readonly Run[] | AsyncStep, Result, unknown>;

/**
 * A call, described once, that `drive` executes asynchronously and `driveSync` while blocking the
 * thread.
 */
export type Work<Result> = OnePhase<Result> | SeveralPhases<Result>;

/** Collectives that may overlap. They need no turn, because the engine keeps the order. */
export interface OnePhase<Result> {
  /** The communicator that runs the collectives; undefined if there are none. */
  readonly on: Communicator | undefined;
  readonly runs: readonly Run[];
  /** Returns the result once all collectives have ended. */
  finish(): Result;
  /** Whether the work may be executed again for the same call on the same memory. Default: false. */
  readonly isRepeatable?: boolean;
}

export interface SeveralPhases<Result> {
  /**
   * The communicator that runs the collectives and orders the call within its group. Undefined if
   * there are only steps.
   */
  readonly on: Communicator | undefined;
  readonly phases: Phases<Result>;
}

/** Work that consists of one asynchronous step, which takes a turn in the call order of the group of `on`. */
export function stepOf<Result>(on: Communicator | undefined, step: AsyncStep<Result>): Work<Result> {
  return { on, phases: awaitStep(step) };
}

/** Work that is already done. */
export function workDone<Result>(result: Result): Work<Result> {
  return { on: undefined, runs: [], finish: () => result };
}

/** The same work, for repeated calls with these options: each collective is checked and prepared once. */
export function preparedWork<Result>(work: OnePhase<Result>, given: RunOptions): OnePhase<Result> {
  return { ...work, runs: work.runs.map((run) => preparedRun(work.on, run, given)) };
}

/** The same collective, checked and prepared once for repetitions with these options. */
export function preparedRun(on: Communicator | undefined, run: Run, given: RunOptions): Run {
  const options = optionsOf(run, given);
  const persistent = on?.persistent?.(run.collective, run.inputs, run.outputs, options);
  return { ...run, options, persistent };
}

/** Phases that consist of one asynchronous step. */
function* awaitStep<Result>(step: AsyncStep<Result>): Phases<Result> {
  return (yield step) as Result;
}

/**
 * Executes a call. A call of several phases waits for its turn in the group, unless `options`
 * contain one. If only this rank fails after the first phase, the whole group fails, because the
 * other ranks would wait for this rank.
 */
export async function drive<Result>(work: Work<Result>, options: RunOptions = {}): Promise<Result> {
  if (!('runs' in work)) return driveInTurn(work, options);
  if (work.runs.length > 0) await startRuns(work.on, work.runs, options);
  return work.finish();
}

async function driveInTurn<Result>({ on, phases }: SeveralPhases<Result>, options: RunOptions): Promise<Result> {
  const turn = options.turn ? undefined : on?.group.order.take();
  const own = turn ? { ...options, turn } : options;
  let isUnderWay = false;
  try {
    if (turn?.begun) await turn.begun;
    let next = phases.next();
    while (!next.done) {
      const phase = next.value;
      let result: unknown;
      if (typeof phase === 'function') result = await phase(own);
      else await startRuns(on, phase, own);
      isUnderWay = true;
      next = phases.next(result);
    }
    return next.value;
  } catch (error) {
    if (isUnderWay) failGroup(on, error);
    throw error;
  } finally {
    turn?.end();
  }
}

/**
 * Starts collectives that may overlap, in one synchronous stretch. The promise resolves when all
 * have ended.
 */
export function startRuns(on: Communicator | undefined, runs: readonly Run[], options: RunOptions): Promise<void> {
  const ends: Promise<void>[] = [];
  for (const run of runs) {
    const { persistent, collective, inputs, outputs } = run;
    ends.push(
      persistent ? persistent.run() : (on as Communicator).run(collective, inputs, outputs, optionsOf(run, options)),
    );
  }
  return untilAllHaveEnded(ends);
}

/**
 * Executes a call and blocks the thread; `operation` names the call in errors.
 * @throws RuntimeError while an earlier call is under way (ERR_COLL_BUSY), and for a step that
 * cannot block (ERR_COLL_CONTEXT)
 */
export function driveSync<Result>(operation: string, work: Work<Result>, options: RunOptions = {}): Result {
  const { on } = work;
  if ('runs' in work) {
    runAll(on, work.runs, options);
    return work.finish();
  }
  const { phases } = work;
  let isUnderWay = false;
  try {
    let next = phases.next();
    while (!next.done) {
      const phase = next.value;
      if (typeof phase === 'function') throw cannotBlock(operation);
      runAll(on, phase, options);
      isUnderWay = true;
      next = phases.next();
    }
    return next.value;
  } catch (error) {
    if (isUnderWay) failGroup(on, error);
    throw error;
  }
}

function runAll(on: Communicator | undefined, runs: readonly Run[], options: RunOptions): void {
  for (const run of runs) {
    const { persistent, collective, inputs, outputs } = run;
    if (persistent) persistent.runSync();
    else (on as Communicator).runSync(collective, inputs, outputs, optionsOf(run, options));
  }
}

/**
 * Fails the group, so that the other ranks do not wait for this one. Does nothing if all ranks are
 * local, if the group has failed already, or for errors that every rank gets, such as differing
 * requests.
 */
function failGroup(on: Communicator | undefined, cause: unknown): void {
  if (!on || on.localRanks.length === on.size || on.group.failure) return;
  const rank = on.localRanks[0] as number;
  if (!(cause instanceof CollError))
    on.group.fail(new UnavailableError('ERR_COLL_PEER_FAILED', messageOf(cause), { rank }));
  else if (cause.code === 'ERR_COLL_BUFFER') on.group.fail(cause);
}

function optionsOf({ layout, valueCount, values, request, options: own }: Run, options: RunOptions): RunOptions {
  if (own) return own;
  if (layout === undefined && request === undefined) return options;
  const { timeoutSeconds, signal, sharedResult, checkCalls, turn } = options;
  return setRunOptions({
    timeoutSeconds,
    layout: layout ?? 0,
    valueCount,
    values,
    request,
    signal,
    sharedResult,
    checkCalls,
    turn,
  });
}

function cannotBlock(operation: string): RuntimeError {
  const message = `${operation}: these cross-device ops cannot block the thread: await the asynchronous call instead`;
  return new RuntimeError('ERR_COLL_CONTEXT', message, { operation });
}
