import type { CallerRequest } from '../caller-request.js';
import type { Collective } from '../collective.js';
import type { Communicator, RunOptions, Segments } from '../communicator.js';
import { untilAllHaveEnded } from './until-all-have-ended.js';

/** One collective on the buffers of the local ranks. */
export interface Run {
  readonly collective: Collective;
  readonly inputs: readonly Segments[];
  readonly outputs: readonly Segments[];
  /** Fingerprint of what the buffers are made of. All ranks must have the same one. */
  readonly layout?: number | undefined;
  /** The call that this collective is a part of, for errors. Default: the collective itself. */
  readonly request?: CallerRequest | undefined;
}

/** Yields lists of runs. The runs of a list overlap; the next list is asked for once all of them have ended. */
export type Phases<Result> = Generator<readonly Run[], Result, undefined>;

/** The collectives of a call, described once and driven with or without blocking. */
export interface Work<Result> {
  /** Whether there is one list of runs at most. Such work needs no turn, because the engine keeps the order. */
  readonly hasOnePhase: boolean;
  readonly phases: Phases<Result>;
}

/** Work of one list of runs, without a result. */
export function onePhase(runs: readonly Run[]): Work<void> {
  return { hasOnePhase: true, phases: phasesOf(runs) };
}

function* phasesOf(runs: readonly Run[]): Phases<void> {
  yield runs;
}

/** Runs work on a communicator. Work of several phases takes a turn of the group unless `options` carry one. */
export async function drive<Result>(
  on: Communicator,
  { hasOnePhase, phases }: Work<Result>,
  options: RunOptions = {},
): Promise<Result> {
  const turn = hasOnePhase || options.turn ? undefined : on.group.order.take();
  const own = turn ? { ...options, turn } : options;
  try {
    if (turn?.begun) await turn.begun;
    let next = phases.next();
    while (!next.done) {
      await untilAllHaveEnded(
        next.value.map((run) => on.run(run.collective, run.inputs, run.outputs, optionsOf(run, own))),
      );
      next = phases.next();
    }
    return next.value;
  } finally {
    turn?.end();
  }
}

/** Runs work on a communicator, blocking the thread. @throws RuntimeError (ERR_COLL_BUSY) while an earlier call is under way */
export function driveSync<Result>(on: Communicator, { phases }: Work<Result>, options: RunOptions = {}): Result {
  let next = phases.next();
  while (!next.done) {
    for (const run of next.value) on.runSync(run.collective, run.inputs, run.outputs, optionsOf(run, options));
    next = phases.next();
  }
  return next.value;
}

function optionsOf({ layout, request }: Run, options: RunOptions): RunOptions {
  if (layout === undefined && request === undefined) return options;
  return request ? { ...options, layout: layout ?? 0, request } : { ...options, layout: layout ?? 0 };
}
