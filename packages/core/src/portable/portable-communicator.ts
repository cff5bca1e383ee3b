import { requireCall, requireCollective, validateBuffers } from '../buffers.js';
import { abortedError, closedError, refusedError } from '../call-errors.js';
import { type Collective, nameOf, opOf, outputDType, rootOf } from '../collective.js';
import type { Group, RunOptions } from '../communicator.js';
import { ControllerGroup } from '../controller-group.js';
import { accumulatorOf, allocate, type DType, type TypedArray } from '../dtype.js';
import { combineKernel, divideKernel, elementaryOp } from '../kernels/combine.js';
import { copyRange, narrowKernel, widenKernel } from '../kernels/convert.js';
import { optionsOf } from '../options-of.js';
import { JoiningCommunicator } from '../packing/joining-communicator.js';
import { allRanks } from '../ranks.js';
import { requireRunOptions } from '../run-options.js';
import { chunkRange } from '../schedule/chunk-range.js';
import { Planner } from '../schedule/planner.js';
import type { Algorithm, Schedule } from '../schedule/schedule.js';
import { type Step, stepsOf } from '../schedule/steps.js';
import type { Tensor } from '../tensor.js';
import { type Places, playStep, scratchLength } from './play-step.js';

/** How many ranks there are, and what they play. */
export interface PortableCommunicatorOptions {
  /** Ranks in the group, whose buffers are all handed in here. */
  readonly size: number;
  /** Plans each collective; its schedules are verified before they are played. */
  readonly algorithm: Algorithm;
}

/**
 * All ranks in one thread: plays a schedule transfer by transfer, exactly as it is written. The reference for every other
 * executor, which must give the same bits.
 */
export class PortableCommunicator extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #planner: Planner;
  readonly #steps = new WeakMap<Schedule, readonly (readonly Step[])[]>();
  readonly #scratch = new Map<string, TypedArray>();
  #isClosed = false;

  constructor(options: PortableCommunicatorOptions, group?: Group) {
    super();
    const { size, algorithm } = optionsOf(options, '{ size: 2, algorithm }') as PortableCommunicatorOptions;
    this.size = size;
    this.localRanks = allRanks(size);
    this.#planner = new Planner(algorithm, size);
    const communicator = (other: Algorithm, own: Group) => new PortableCommunicator({ size, algorithm: other }, own);
    this.group = group ?? new ControllerGroup({ communicator });
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
    requireRunOptions(options);
    requireCall(collective, inputs, outputs);
    requireCollective(collective);
    const { signal, sharedResult = false } = options;
    const operation = nameOf(collective);
    if (this.#isClosed) throw closedError({ operation });
    if (this.group.failure) throw this.group.failure;
    if (signal?.aborted) throw abortedError('before it began', signal, { operation });
    validateBuffers({ collective, size: this.size, localRanks: this.localRanks, sharedResult }, inputs, outputs);
    const { dtype } = inputs[rootOf(collective) ?? 0] ?? (inputs[0] as Tensor);
    const refused = this.refuses(collective, dtype);
    if (refused) throw refusedError(refused, { operation });
    const schedule = this.#planner.plan(collective);
    const length = wholeLength(collective, inputs, outputs);
    const places = this.#load(collective, dtype, length, inputs, outputs);
    this.#play(schedule, collective, dtype, length, places);
    this.#store(collective, dtype, length, places, outputs);
  }

  /** Calls made from now on are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#scratch.clear();
  }

  /** Every rank's part of the whole buffer, in the accumulator's type: in the outputs where these have room for it. */
  #load(
    collective: Collective,
    dtype: DType,
    length: number,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
  ): Places {
    const wide = carrierOf(collective, dtype);
    const root = rootOf(collective);
    const inOutputs =
      wide === dtype && outputDType(collective, dtype) === dtype && collective.kind !== 'reduce-scatter';
    const arrays = this.localRanks.map((rank) => {
      const ownOutput = inOutputs && (collective.kind === 'reduce' ? rank === root : isFirst(rank, outputs));
      return ownOutput ? (outputs[rank] as Tensor).data : this.#borrow(`rank ${rank}`, wide, length);
    });
    this.localRanks.forEach((rank, index) => {
      if (collective.kind === 'broadcast' && rank !== root) return;
      const from = (inputs[index] as Tensor).data;
      const at = collective.kind === 'all-gather' ? rank * from.length : 0;
      const load = wide === dtype ? copyRange : widenKernel(dtype);
      load(arrays[index] as TypedArray, at, from, 0, from.length);
    });
    return { arrays, offsets: arrays.map(() => 0) };
  }

  #play(schedule: Schedule, collective: Collective, dtype: DType, length: number, places: Places): void {
    const wide = carrierOf(collective, dtype);
    const combine = combineKernel(accumulatorOf(wide), elementaryOp(opOf(collective) ?? 'sum'));
    const scratch = this.#borrow('block', wide, scratchLength);
    for (const steps of this.#stepsOf(schedule)) {
      for (const step of steps) {
        const { begin, end } = chunkRange(schedule, collective.kind, length, step.chunk);
        playStep(step, places, begin, end, combine, scratch);
      }
    }
  }

  #store(collective: Collective, dtype: DType, length: number, { arrays }: Places, outputs: readonly Tensor[]): void {
    const ranks = this.localRanks.filter((rank) => isFirst(rank, outputs));
    const receivers = collective.kind === 'reduce' ? [collective.root] : ranks;
    for (const rank of receivers) {
      const { data: into, dtype: narrow } = outputs[rank] as Tensor;
      const from = arrays[rank] as TypedArray;
      const begin = collective.kind === 'reduce-scatter' ? (rank * length) / this.size : 0;
      if (opOf(collective) === 'mean') {
        const wide = accumulatorOf(narrow);
        const quotient = wide === narrow ? into : this.#borrow('quotient', wide, into.length);
        divideKernel(accumulatorOf(dtype))(quotient, 0, from, begin, into.length, this.size);
        if (quotient !== into) narrowKernel(narrow)(into, 0, quotient, 0, into.length);
      } else if (from !== into) {
        const store = opOf(collective) === undefined ? copyRange : narrowKernel(narrow);
        store(into, 0, from, begin, into.length);
      }
    }
  }

  #stepsOf(schedule: Schedule): readonly (readonly Step[])[] {
    const known = this.#steps.get(schedule);
    if (known) return known;
    const steps = schedule.rounds.map(stepsOf);
    this.#steps.set(schedule, steps);
    return steps;
  }

  /** Memory of this communicator for one purpose, kept from call to call. */
  #borrow(purpose: string, dtype: DType, length: number): TypedArray {
    const key = `${purpose} ${dtype}`;
    const kept = this.#scratch.get(key);
    if (kept && kept.length >= length) return kept;
    const made = allocate(dtype, length);
    this.#scratch.set(key, made);
    return made;
  }
}

/** In what elements travel: those that are combined in their accumulator, others as they are, bit by bit. */
function carrierOf(collective: Collective, dtype: DType): DType {
  return opOf(collective) === undefined ? dtype : accumulatorOf(dtype);
}

/** Whether nobody before this rank has the same output, as all have that share a result. */
function isFirst(rank: number, outputs: readonly Tensor[]): boolean {
  const own = (outputs[rank] as Tensor).data;
  return outputs.findIndex(({ data }) => data.buffer === own.buffer && data.byteOffset === own.byteOffset) === rank;
}

/** Elements of the buffer that the chunks cut: all ranks' blocks for all-gather and reduce-scatter. */
function wholeLength(collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[]): number {
  const { length } = (collective.kind === 'all-gather' ? outputs[0] : inputs[rootOf(collective) ?? 0])?.data ?? [];
  return length;
}
