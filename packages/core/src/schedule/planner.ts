import { refusedCollective } from '../collectives/buffers.js';
import { type Collective, nameOf } from '../collectives/collective.js';
import { CollError, ValueError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import { quote } from '../support/quote.js';
import type { DType } from '../values/dtype.js';
import type { Algorithm, Schedule } from './schedule.js';
import { problemOf } from './verify.js';

// An all-to-all has a chunk per pair of ranks, and every rank has a place for every chunk. The
// native engine has room for the places of this many ranks.
const mostExchangingRanks = 160;

/**
 * Plans the collectives of a group, and verifies each plan. A planner keeps no schedules, which take
 * megabytes for many ranks: keep what you make of them.
 *
 * @example
 * ```ts
 * import { Planner } from '@coll/core/plugin';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * const planner = new Planner(ringAlgorithm(), 4);
 * const { chunks, rounds } = planner.plan({ kind: 'all-reduce', op: 'sum' });
 * console.log(chunks, rounds.length); // 4 6
 * ```
 */
export class Planner {
  readonly algorithm: Algorithm;
  readonly size: number;

  /** @throws ValueError unless `algorithm` is an algorithm object; a name is not accepted */
  constructor(algorithm: Algorithm, size: number) {
    if (typeof Object(algorithm).plan !== 'function') {
      const message = `an algorithm must be an object with a name and a plan, such as directAlgorithm(), got ${quote(algorithm)}`;
      throw new ValueError('ERR_COLL_VALUE', message);
    }
    this.algorithm = algorithm;
    this.size = size;
  }

  /**
   * The reason, for the user, why the collective is not supported; undefined if it is supported.
   */
  refuses(collective: Collective, dtype: DType): string | undefined {
    const refused = refusedCollective(collective, dtype, this.size);
    if (refused !== undefined) return refused;
    if (collective.kind === 'all-to-all' && this.size > mostExchangingRanks)
      return `an all-to-all must have at most ${mostExchangingRanks} ranks, got ${this.size}`;
    return this.#refusedByAlgorithm(collective);
  }

  /**
   * The schedule of a collective, made and verified anew by each call.
   * @throws CollError if the algorithm throws, or if its schedule does not perform the collective
   */
  plan(collective: Collective): Schedule {
    const schedule = this.#scheduleFor(collective);
    const problem = this.#misfit(schedule) ?? problemOf(schedule, collective);
    if (problem) throw this.#wrong(collective, problem);
    return schedule;
  }

  #misfit(schedule: Schedule): string | undefined {
    const { ranks } = Object(schedule) as Partial<Schedule>;
    return Number.isInteger(ranks) && ranks !== this.size ? `its schedule is for ${ranks} ranks` : undefined;
  }

  #scheduleFor(collective: Collective): Schedule {
    try {
      return this.algorithm.plan(collective, this.size);
    } catch (cause) {
      throw cause instanceof CollError ? cause : this.#wrong(collective, `its plan threw: ${messageOf(cause)}`, cause);
    }
  }

  #refusedByAlgorithm(collective: Collective): string | undefined {
    try {
      return this.algorithm.refuses?.(collective, this.size);
    } catch (error) {
      return `the refuses method of algorithm "${this.algorithm.name}" threw: ${messageOf(error)}`;
    }
  }

  #wrong(collective: Collective, problem: string, cause?: unknown): CollError {
    const operation = nameOf(collective);
    const message = `algorithm "${this.algorithm.name}" has no correct schedule for ${operation} of ${this.size} ranks`;
    return new CollError('ERR_COLL_SCHEDULE', `${message}: ${problem}`, { operation, cause });
  }
}
