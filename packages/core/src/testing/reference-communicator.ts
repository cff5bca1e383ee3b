import { requireCall, requireCollective, validateBuffers } from '../collectives/buffers.js';
import { abortedError, closedError, refusedError } from '../collectives/call-errors.js';
import {
  accumulatorOf,
  type Collective,
  hasOneResult,
  nameOf,
  opOf,
  outputDType,
  reads,
  writes,
} from '../collectives/collective.js';
import { combineKernel, divideKernel, elementaryOp } from '../kernels/combine.js';
import { type ConvertKernel, copyRange, narrowKernel, widenKernel } from '../kernels/convert.js';
import { ControllerGroup } from '../members/controller-group.js';
import { JoiningCommunicator } from '../packing/joining-communicator.js';
import type { Group, RunOptions } from '../runtime/communicator.js';
import { type ChunkRange, chunkRange, type Side } from '../schedule/chunk-range.js';
import { type Goal, goalOf } from '../schedule/goal.js';
import { Planner } from '../schedule/planner.js';
import type { Algorithm, Schedule } from '../schedule/schedule.js';
import { type Step, stepsOf } from '../schedule/steps.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { allRanks } from '../support/ranks.js';
import { allocate, type DType, isHalf, type TypedArray } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import { type ChunkPlaces, executeStep, scratchLength } from './execute-step.js';

/** The ranks of the group and their algorithm. */
export interface ReferenceCommunicatorOptions {
  /** Number of ranks in the group. Each call passes the buffers of all ranks. */
  readonly size: number;
  /** Plans each collective; schedules are verified before they are executed. */
  readonly algorithm: Algorithm;
}

const referenceOptions = knownOptions<ReferenceCommunicatorOptions>('ReferenceCommunicator', {
  size: true,
  algorithm: true,
});

/**
 * A communicator with all ranks in one thread, which executes a schedule transfer by transfer,
 * exactly as written. Tests compare the bits of all engines with this one.
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 * import { ReferenceCommunicator } from '@coll/testing';
 *
 * const communicator = new ReferenceCommunicator({ size: 2, algorithm: directAlgorithm() });
 * const buffers = [tensor(new Float32Array([1, 2])), tensor(new Float32Array([3, 4]))];
 * communicator.runSync({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(2) [ 4, 6 ]
 * ```
 */
export class ReferenceCommunicator extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #planner: Planner;
  readonly #plans = new Map<string, Plan>();
  readonly #scratch = new Map<string, TypedArray>();
  #isClosed = false;

  /**
   * @param group the group of an existing communicator of the same ranks. Default: a new one
   * @throws ValueError for an unknown option, an invalid size, or an invalid algorithm
   */
  constructor(options: ReferenceCommunicatorOptions, group?: Group) {
    super();
    const { size, algorithm } = optionsOf(
      options,
      '{ size: 2, algorithm }',
      referenceOptions,
    ) as ReferenceCommunicatorOptions;
    this.size = size;
    this.localRanks = allRanks(size);
    this.#planner = new Planner(algorithm, size);
    const communicator = (other: Algorithm, own: Group) => new ReferenceCommunicator({ size, algorithm: other }, own);
    const ofSize = (ranks: number, other: Algorithm) => new ReferenceCommunicator({ size: ranks, algorithm: other });
    this.group = group ?? new ControllerGroup({ communicator, ofSize });
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#planner.refuses(collective, dtype);
  }

  protected async runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): Promise<void> {
    this.runWholeSync(collective, inputs, outputs, options);
  }

  protected runWholeSync(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions = {},
  ): void {
    requireCall(collective, inputs, outputs);
    requireCollective(collective);
    const { signal, sharedResult = false } = options;
    const operation = nameOf(collective);
    if (this.#isClosed) throw closedError({ operation });
    if (this.group.failure) throw this.group.failure;
    if (signal?.aborted) throw abortedError('before it began', signal, { operation });
    validateBuffers({ collective, size: this.size, localRanks: this.localRanks, sharedResult }, inputs, outputs);
    const { dtype } = (inputs[this.localRanks.findIndex((rank) => reads(collective, rank))] ?? outputs[0]) as Tensor;
    const refused = this.refuses(collective, dtype);
    if (refused) throw refusedError(refused, { operation });
    const plan = this.#planFor(collective);
    const cut = { collective, dtype, plan, length: longestOf(collective, inputs, outputs) };
    const places = this.#placesFor(cut, outputs);
    this.#load(cut, places, inputs);
    this.#execute(cut, places);
    this.#store(cut, places, outputs);
  }

  /** Rejects all calls made from now on, and releases the scratch memory. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#scratch.clear();
  }

  /**
   * Memory for the chunks of each rank, in the dtype that `carrierOf` returns: the rank's output if
   * all chunks fit there, otherwise scratch memory.
   */
  #placesFor(cut: Cut, outputs: readonly Tensor[]): ChunkPlaces {
    const { collective, dtype, plan, length } = cut;
    const wide = carrierOf(collective, dtype);
    // The output of an all-to-all has no room for the chunks that the rank sends.
    const fits = wide === dtype && outputDType(collective, dtype) === dtype && collective.kind !== 'all-to-all';
    const inOutput = this.localRanks.map(
      (rank) => fits && isWritten(rank, collective, outputs) && outputs[rank]?.data.length === length,
    );
    const { chunks } = plan.schedule;
    const longest = lengthOf(cut, 0);
    const arrays = this.localRanks.map((rank) =>
      inOutput[rank]
        ? (outputs[rank] as Tensor).data
        : this.#borrow(`rank ${rank}`, wide, (plan.counts[rank] as number) * longest),
    );
    const offsetOf = (rank: number, chunk: number) =>
      inOutput[rank] ? rangeOf(cut, chunk, 'output').begin : (plan.indices[rank * chunks + chunk] as number) * longest;
    return { arrays, offsetOf };
  }

  #load(cut: Cut, { arrays, offsetOf }: ChunkPlaces, inputs: readonly Tensor[]): void {
    const { collective, dtype, plan } = cut;
    const op = opOf(collective);
    const load = op === undefined ? copyRange : widenKernel(dtype, op);
    for (const rank of this.localRanks) {
      const [into, from] = [arrays[rank] as TypedArray, (inputs[rank] as Tensor).data];
      for (let chunk = 0; chunk < plan.schedule.chunks; chunk++) {
        if (!plan.goal.contributes(rank, chunk)) continue;
        const { begin, end } = rangeOf(cut, chunk, 'input');
        load(into, offsetOf(rank, chunk), from, begin, end - begin);
      }
    }
  }

  #execute(cut: Cut, places: ChunkPlaces): void {
    const { collective, dtype, plan } = cut;
    const wide = carrierOf(collective, dtype);
    const combine = combineKernel(wide, elementaryOp(opOf(collective) ?? 'sum'));
    const scratch = this.#borrow('block', wide, scratchLength);
    for (const steps of plan.steps) {
      for (const step of steps) executeStep(step, places, lengthOf(cut, step.chunk), combine, scratch);
    }
  }

  #store(cut: Cut, { arrays, offsetOf }: ChunkPlaces, outputs: readonly Tensor[]): void {
    const { collective, plan } = cut;
    for (const rank of this.localRanks.filter((one) => isWritten(one, collective, outputs))) {
      const output = outputs[rank] as Tensor;
      const finish = this.#finisher(cut, output);
      const from = arrays[rank] as TypedArray;
      for (let chunk = 0; chunk < plan.schedule.chunks; chunk++) {
        if (!plan.goal.receives(rank, chunk)) continue;
        const { begin, end } = rangeOf(cut, chunk, 'output');
        finish(output.data, begin, from, offsetOf(rank, chunk), end - begin);
      }
    }
  }

  /** A kernel that converts chunks from the dtype of the sums (`carrierOf`) to the dtype of the results, and divides them for a mean. */
  #finisher({ collective, dtype }: Cut, { dtype: narrow }: Tensor): ConvertKernel {
    const op = opOf(collective);
    if (op === undefined) return copyRange;
    const narrowed = narrowKernel(narrow);
    if (op !== 'mean') return narrowed;
    const wide = accumulatorOf(dtype, op);
    const divide = divideKernel(wide);
    return (into, intoAt, from, fromAt, count) => {
      if (!isHalf(narrow)) return divide(into, intoAt, from, fromAt, count, this.size);
      const quotient = this.#borrow('quotient', wide, count);
      divide(quotient, 0, from, fromAt, count, this.size);
      narrowed(into, intoAt, quotient, 0, count);
    };
  }

  #planFor(collective: Collective): Plan {
    const name = nameOf(collective);
    const known = this.#plans.get(name);
    if (known) return known;
    const made = planOf(this.#planner.plan(collective), collective);
    this.#plans.set(name, made);
    return made;
  }

  /** Scratch memory for one purpose, kept for later calls. */
  #borrow(purpose: string, dtype: DType, length: number): TypedArray {
    const key = `${purpose} ${dtype}`;
    const kept = this.#scratch.get(key);
    if (kept && kept.length >= length) return kept;
    const made = allocate(dtype, length);
    this.#scratch.set(key, made);
    return made;
  }
}

/**
 * The dtype of chunks during the rounds: the accumulator's if the collective combines, otherwise
 * unchanged.
 */
function carrierOf(collective: Collective, dtype: DType): DType {
  const op = opOf(collective);
  return op === undefined ? dtype : accumulatorOf(dtype, op);
}

/** Whether a rank stores its result. If ranks share an output, only the first of them stores it. */
function isWritten(rank: number, collective: Collective, outputs: readonly Tensor[]): boolean {
  if (!hasOneResult(collective)) return writes(collective, rank);
  const own = (outputs[rank] as Tensor).data;
  return outputs.findIndex(({ data }) => data.buffer === own.buffer && data.byteOffset === own.byteOffset) === rank;
}

/** A verified schedule, and the chunks that each rank holds at some time. */
interface Plan {
  readonly schedule: Schedule;
  readonly goal: Goal;
  readonly steps: readonly (readonly Step[])[];
  /** Number of chunks that each rank holds at some time. */
  readonly counts: readonly number[];
  /**
   * At `rank * chunks + chunk`: the position of the chunk among those that the rank holds; -1 if it
   * never holds it.
   */
  readonly indices: Int32Array;
}

function planOf(schedule: Schedule, collective: Collective): Plan {
  const { ranks, chunks, rounds } = schedule;
  const goal = goalOf(collective, schedule);
  const steps = rounds.map(stepsOf);
  const indices = new Int32Array(ranks * chunks).fill(-1);
  const counts = allRanks(ranks).map(() => 0);
  const hold = (rank: number, chunk: number) => {
    const place = rank * chunks + chunk;
    if (indices[place] === -1) {
      indices[place] = counts[rank] as number;
      counts[rank] = (counts[rank] as number) + 1;
    }
  };
  for (const rank of allRanks(ranks)) {
    for (let chunk = 0; chunk < chunks; chunk++) if (goal.contributes(rank, chunk)) hold(rank, chunk);
  }
  for (const { to, chunk } of steps.flat()) hold(to, chunk);
  return { schedule, goal, steps, counts, indices };
}

/** A plan applied to the buffers of a call, the longest of which has `length` elements. */
interface Cut {
  readonly collective: Collective;
  readonly dtype: DType;
  readonly plan: Plan;
  readonly length: number;
}

function rangeOf({ plan, collective, length }: Cut, chunk: number, side: Side): ChunkRange {
  return chunkRange(plan.schedule, collective.kind, length, chunk, side);
}

/** Number of elements of a chunk. No chunk is longer than the first. */
function lengthOf(cut: Cut, chunk: number): number {
  const { begin, end } = rangeOf(cut, chunk, 'input');
  return end - begin;
}

function longestOf(collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[]): number {
  const lengths = inputs.map(({ data }, rank) => (reads(collective, rank) ? data.length : 0));
  return outputs.reduce(
    (longest, { data }, rank) => (writes(collective, rank) ? Math.max(longest, data.length) : longest),
    Math.max(...lengths),
  );
}
