import { type Collective, nameOf, opOf } from '../collectives/collective.js';
import type { FoldMaker, Kernels } from '../kernels/fold.js';
import { type FusedChunk, fusedChunks } from '../schedule/fused-chunks.js';
import { Planner } from '../schedule/planner.js';
import type { Algorithm, Schedule } from '../schedule/schedule.js';
import type { DType } from '../values/dtype.js';
import { scheduleNumber } from './descriptors.js';

/** A verified schedule, prepared for execution with any dtype. */
interface PreparedSchedule {
  readonly schedule: Pick<Schedule, 'ranks' | 'chunks'>;
  /** Hash that identifies the schedule. */
  readonly number: number;
  readonly chunks: readonly FusedChunk[];
}

/** A verified schedule, prepared for execution by a thread. */
export interface Plan<Location = number> extends PreparedSchedule {
  readonly collective: Collective;
  readonly dtype: DType;
  readonly makeFold: FoldMaker<Location>;
}

/** The plans (prepared schedules) of one algorithm, each made once per kind of request. */
export class Plans<Location = number> {
  readonly #planner: Planner;
  readonly #kernels: Kernels<Location>;
  readonly #schedules = new Map<string, PreparedSchedule>();
  readonly #plans = new Map<string, Plan<Location>>();

  constructor(algorithm: Algorithm, size: number, kernels: Kernels<Location>) {
    this.#planner = new Planner(algorithm, size);
    this.#kernels = kernels;
  }

  /**
   * The reason, for the user, why the collective is not supported; undefined if it is supported.
   */
  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#planner.refuses(collective, dtype);
  }

  /** The plan of a collective. @throws CollError if the algorithm's schedule does not perform it */
  find(collective: Collective, dtype: DType): Plan<Location> {
    const name = nameOf(collective);
    const key = `${name} ${dtype}`;
    const known = this.#plans.get(key);
    if (known) return known;
    const made = {
      ...this.#prepared(name, collective),
      collective,
      dtype,
      makeFold: this.#kernels.foldMaker({ dtype, op: opOf(collective), divisor: this.#planner.size }),
    };
    this.#plans.set(key, made);
    return made;
  }

  #prepared(name: string, collective: Collective): PreparedSchedule {
    const known = this.#schedules.get(name);
    if (known) return known;
    const schedule = this.#planner.plan(collective);
    const { ranks, chunks } = schedule;
    const made = {
      schedule: { ranks, chunks },
      number: scheduleNumber(schedule),
      chunks: fusedChunks(schedule, collective),
    };
    this.#schedules.set(name, made);
    return made;
  }
}
