import { type Algorithm, type Collective, type DType, dtypes, type Schedule } from '@coll/core';
import { isSameCollective, scheduleNumber } from '@coll/core/internal';
import { collectiveKinds, collectiveOps, nameOf, opOf, Planner, rootOf, stepsOf } from '@coll/core/plugin';
import { chainsOf } from '@coll/core/schedule';
import type { ProgramHandle } from './handles.js';
import type { NativeBinding } from './native-binding.js';

/** A verified schedule in the form that native code executes. */
export interface Program {
  readonly handle: ProgramHandle;
  /** Hash that identifies the schedule. */
  readonly number: number;
  readonly schedule: Schedule;
}

/** The schedules of one algorithm in the form that native code executes, each created once. */
export class Programs {
  readonly #binding: NativeBinding;
  readonly #planner: Planner;
  readonly #programs = new Map<string, Program>();
  /** The latest request, because looking up its name takes longer than comparing it. */
  #latest: { readonly collective: Collective; readonly dtype: DType; readonly program: Program } | undefined;

  constructor(binding: NativeBinding, algorithm: Algorithm, size: number) {
    this.#binding = binding;
    this.#planner = new Planner(algorithm, size);
  }

  /**
   * Why this algorithm cannot execute the collective, as text for the user; undefined if it can.
   */
  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#planner.refuses(collective, dtype);
  }

  /**
   * Returns the schedule of a collective in the form that native code executes.
   * @throws CollError if the algorithm's schedule does not do what was requested
   */
  find(collective: Collective, dtype: DType): Program {
    const latest = this.#latest;
    if (latest?.dtype === dtype && isSameCollective(latest.collective, collective)) return latest.program;
    const program = this.#named(collective, dtype);
    this.#latest = { collective: { ...collective }, dtype, program };
    return program;
  }

  #named(collective: Collective, dtype: DType): Program {
    const key = `${nameOf(collective)} ${dtype}`;
    const known = this.#programs.get(key);
    if (known) return known;
    const schedule = this.#planner.plan(collective);
    const handle = this.#binding.program(Int32Array.from(wordsOf(schedule, collective, dtype)));
    const made = { handle, number: scheduleNumber(schedule), schedule };
    this.#programs.set(key, made);
    return made;
  }
}

/** A schedule as integers, chunk by chunk, in the format of `parse_program` in C++. */
function wordsOf(schedule: Schedule, collective: Collective, dtype: DType): number[] {
  const op = opOf(collective) ?? 'sum';
  const head = [collectiveKinds.indexOf(collective.kind), collectiveOps.indexOf(op), dtypes.indexOf(dtype)];
  const chains = chainsOf(schedule, collective);
  const chunks = chains?.map((chain) => [1, chain.length, ...chain]) ?? stepWords(schedule);
  return [...head, schedule.ranks, rootOf(collective) ?? 0, schedule.chunks, ...chunks.flat()];
}

// Elements of different chunks are independent, so the rounds of each chunk can be executed
// separately.
function stepWords({ chunks, rounds }: Schedule): number[][] {
  const steps = rounds.flatMap(stepsOf);
  return Array.from({ length: chunks }, (_, index) => {
    const own = steps.filter(({ chunk }) => chunk === index);
    return [0, own.length, ...own.flatMap(({ to, operands }) => [to, operands.length, ...operands])];
  });
}
