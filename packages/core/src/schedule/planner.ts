import { refusedCollective } from '../buffers.js';
import { type Collective, nameOf } from '../collective.js';
import type { DType } from '../dtype.js';
import { CollError, ValueError } from '../errors.js';
import { quote } from '../quote.js';
import type { Algorithm, Schedule } from './schedule.js';
import { problemOf } from './verify.js';

/** Plans each collective of a group once, and proves the plan before anyone plays it. */
export class Planner {
  readonly #plans = new Map<string, Schedule>();

  readonly algorithm: Algorithm;
  readonly size: number;

  /** @throws ValueError for what is no algorithm, such as the name of one */
  constructor(algorithm: Algorithm, size: number) {
    if (typeof Object(algorithm).plan !== 'function') {
      const told = `an algorithm is an object with a name and a plan, such as directAlgorithm, not ${quote(algorithm)}`;
      throw new ValueError('ERR_COLL_VALUE', told);
    }
    this.algorithm = algorithm;
    this.size = size;
  }

  /** Why such a collective cannot be had, in words for the user; undefined where it can. */
  refuses(collective: Collective, dtype: DType): string | undefined {
    return refusedCollective(collective, dtype, this.size) ?? this.algorithm.refuses?.(collective, this.size);
  }

  /** @throws CollError where the algorithm's schedule does not do what was asked */
  plan(collective: Collective): Schedule {
    const name = nameOf(collective);
    const known = this.#plans.get(name);
    if (known) return known;
    const schedule = this.algorithm.plan(collective, this.size);
    const problem =
      schedule.ranks === this.size ? problemOf(schedule, collective) : `it is for ${schedule.ranks} ranks`;
    if (problem) {
      throw new CollError(
        'ERR_COLL_SCHEDULE',
        `algorithm "${this.algorithm.name}" has no right schedule for ${name} among ${this.size} ranks: ${problem}`,
        {
          operation: name,
        },
      );
    }
    this.#plans.set(name, schedule);
    return schedule;
  }
}
