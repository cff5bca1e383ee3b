import { type Algorithm, type Collective, type DType, dtypes, type Schedule } from '@coll/core';
import { isSameCollective, type StepsByChunk, scheduleNumber, stepsByChunk } from '@coll/core/internal';
import { collectiveKinds, collectiveOps, nameOf, opOf, Planner, rootOf } from '@coll/core/plugin';
import { chainsOf } from '@coll/core/schedule';
import type { ProgramHandle } from './handles.js';
import type { NativeBinding } from './native-binding.js';

/** A verified schedule in the form that native code executes. */
export interface Program<Messages = undefined> {
  readonly handle: ProgramHandle;
  /** Hash that identifies the schedule. */
  readonly number: number;
  /** The schedule in the form that processes without shared memory execute. */
  readonly messages: Messages;
}

/** Prepares a schedule for execution by messages. Returns a function that makes its form for a dtype. */
export type PrepareMessages<Messages> = (schedule: Schedule, collective: Collective) => (dtype: DType) => Messages;

/** A verified schedule, prepared for any dtype. */
interface PreparedSchedule<Messages> {
  readonly name: string;
  readonly words: Int32Array;
  readonly number: number;
  readonly messagesFor: (dtype: DType) => Messages;
}

/** The schedules of one algorithm in the form that native code executes, each created once. */
export class Programs<Messages = undefined> {
  readonly #binding: NativeBinding;
  readonly #planner: Planner;
  readonly #prepareMessages: PrepareMessages<Messages>;
  readonly #programs = new Map<string, Program<Messages>>();
  /**
   * The latest schedule, for requests of other dtypes. Earlier ones are dropped, because of many
   * ranks they take more memory than their programs.
   */
  #prepared: PreparedSchedule<Messages> | undefined;
  /** The latest request, because looking up its name takes longer than comparing it. */
  #latest: { readonly collective: Collective; readonly dtype: DType; readonly program: Program<Messages> } | undefined;

  constructor(binding: NativeBinding, algorithm: Algorithm, size: number, prepareMessages: PrepareMessages<Messages>) {
    this.#binding = binding;
    this.#planner = new Planner(algorithm, size);
    this.#prepareMessages = prepareMessages;
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
  find(collective: Collective, dtype: DType): Program<Messages> {
    const latest = this.#latest;
    if (latest?.dtype === dtype && isSameCollective(latest.collective, collective)) return latest.program;
    const program = this.#named(collective, dtype);
    this.#latest = { collective: { ...collective }, dtype, program };
    return program;
  }

  #named(collective: Collective, dtype: DType): Program<Messages> {
    const name = nameOf(collective);
    const key = `${name} ${dtype}`;
    const known = this.#programs.get(key);
    if (known) return known;
    this.#prepared = this.#prepared?.name === name ? this.#prepared : this.#prepare(name, collective);
    const { words, number, messagesFor } = this.#prepared;
    words[dtypeAt] = dtypes.indexOf(dtype);
    const made = { handle: this.#binding.program(words), number, messages: messagesFor(dtype) };
    this.#programs.set(key, made);
    return made;
  }

  #prepare(name: string, collective: Collective): PreparedSchedule<Messages> {
    const schedule = this.#planner.plan(collective);
    const messagesFor = this.#prepareMessages(schedule, collective);
    return { name, words: wordsOf(schedule, collective), number: scheduleNumber(schedule), messagesFor };
  }
}

/** For communicators that never send messages. */
export const noMessages: PrepareMessages<undefined> = () => () => undefined;

/** The index, among the words of a schedule, of its dtype. */
const dtypeAt = 2;

/** A schedule as integers, chunk by chunk, in the format of `parse_program` in C++, of the first dtype. */
function wordsOf(schedule: Schedule, collective: Collective): Int32Array {
  const { ranks, chunks } = schedule;
  const head = [collectiveKinds.indexOf(collective.kind), collectiveOps.indexOf(opOf(collective) ?? 'sum'), 0];
  head.push(ranks, rootOf(collective) ?? 0, chunks);
  const chains = chainsOf(schedule, collective);
  return chains ? chainWords(head, chains) : stepWords(head, stepsByChunk(schedule));
}

function chainWords(head: readonly number[], chains: readonly (readonly number[])[]): Int32Array {
  const words = new Int32Array(chains.reduce((length, chain) => length + 2 + chain.length, head.length));
  words.set(head);
  let at = head.length;
  for (const chain of chains) {
    words[at] = 1;
    words[at + 1] = chain.length;
    words.set(chain, at + 2);
    at += 2 + chain.length;
  }
  return words;
}

// Elements of different chunks are independent, so the rounds of each chunk can be executed
// separately.
function stepWords(head: readonly number[], { begins, counts, words: steps }: StepsByChunk): Int32Array {
  const words = new Int32Array(head.length + 2 * counts.length + steps.length);
  words.set(head);
  let at = head.length;
  counts.forEach((count, chunk) => {
    const own = steps.subarray(begins[chunk], begins[chunk + 1]);
    words[at + 1] = count;
    words.set(own, at + 2);
    at += 2 + own.length;
  });
  return words;
}
