import { type Collective, nameOf, opOf, outputDType } from '../collective.js';
import { accumulatorOf, allocate, byteSize, type DType, type TypedArray } from '../dtype.js';
import { type CombineKernel, combineKernel, divideKernel, elementaryOp } from '../kernels/combine.js';
import { narrowKernel, widenKernel } from '../kernels/convert.js';
import { type Places, playStep, scratchLength } from '../portable/play-step.js';
import { chunkRange } from '../schedule/chunk-range.js';
import { Planner } from '../schedule/planner.js';
import type { Algorithm, Schedule } from '../schedule/schedule.js';
import { type Step, stepsOf } from '../schedule/steps.js';
import type { Tensor } from '../tensor.js';
import type { Arena } from './arena.js';
import { type Descriptors, scheduleNumber } from './descriptors.js';
import { Fold, type FusedChunk, fusedChunks } from './fold.js';

/** A proven schedule with what a thread needs to play it: fused where its arithmetic is a chain, round by round otherwise. */
export interface ThreadPlan {
  readonly collective: Collective;
  readonly dtype: DType;
  readonly schedule: Schedule;
  /** What tells this schedule from others. */
  readonly number: number;
  readonly fold?: Fold;
  readonly chunks?: readonly FusedChunk[];
  readonly steps?: readonly (readonly Step[])[];
  readonly combine: CombineKernel;
  readonly scratch: TypedArray;
}

/** The plans of one rank, made once for each kind of request. */
export class Plans {
  readonly #planner: Planner;
  readonly #size: number;
  readonly #arena: Arena;
  readonly #descriptors: Descriptors;
  readonly #plans = new Map<string, ThreadPlan>();

  constructor(algorithm: Algorithm, size: number, arena: Arena, descriptors: Descriptors) {
    this.#planner = new Planner(algorithm, size);
    this.#size = size;
    this.#arena = arena;
    this.#descriptors = descriptors;
  }

  refuses(collective: Collective): string | undefined {
    return this.#planner.refuses(collective);
  }

  find(collective: Collective, dtype: DType): ThreadPlan {
    const key = `${nameOf(collective)} ${dtype}`;
    const known = this.#plans.get(key);
    if (known) return known;
    const made = this.#make(collective, dtype);
    this.#plans.set(key, made);
    return made;
  }

  /** Fused: this rank's share of the buffer, from everybody's inputs to everybody's outputs. */
  playShare({ collective, dtype, schedule, chunks, fold }: ThreadPlan, rank: number, length: number): void {
    const [begin, end] = this.#share(collective, dtype, rank, length);
    for (let chunk = 0; chunk < schedule.chunks; chunk++) {
      const range = chunkRange(schedule, collective.kind, length, chunk);
      fold?.play(chunks?.[chunk] as FusedChunk, Math.max(begin, range.begin), Math.min(end, range.end), length);
    }
  }

  /** Round by round: this rank's input into its place in the arena, as the accumulator has it. */
  load({ collective, dtype }: ThreadPlan, rank: number, workAt: number, { data }: Tensor): void {
    const wide = accumulatorOf(dtype);
    const block = collective.kind === 'all-gather' ? rank * data.length : 0;
    widenKernel(dtype)(this.#arena.elements(wide), workAt / byteSize(wide) + block, data, 0, data.length);
  }

  /** Round by round: what arrives at this rank. */
  playRound(
    { collective, dtype, schedule, steps, combine, scratch }: ThreadPlan,
    rank: number,
    round: number,
    length: number,
  ): void {
    const places = this.#places(accumulatorOf(dtype));
    for (const step of steps?.[round] ?? []) {
      if (step.to !== rank) continue;
      const { begin, end } = chunkRange(schedule, collective.kind, length, step.chunk);
      playStep(step, places, begin, end, combine, scratch);
    }
  }

  /** Round by round: this rank's result into its output. */
  store(
    { collective, dtype }: ThreadPlan,
    rank: number,
    workAt: number,
    length: number,
    { data: into, dtype: narrow }: Tensor,
  ): void {
    const wide = accumulatorOf(dtype);
    const from = this.#arena.elements(wide);
    const block = collective.kind === 'reduce-scatter' ? (rank * length) / this.#size : 0;
    const at = workAt / byteSize(wide) + block;
    if (opOf(collective) === 'mean') {
      const quotient = accumulatorOf(narrow) === narrow ? into : allocate(accumulatorOf(narrow), into.length);
      divideKernel(wide)(quotient, 0, from, at, into.length, this.#size);
      if (quotient !== into) narrowKernel(narrow)(into, 0, quotient, 0, into.length);
    } else {
      narrowKernel(narrow)(into, 0, from, at, into.length);
    }
  }

  #make(collective: Collective, dtype: DType): ThreadPlan {
    const schedule = this.#planner.plan(collective);
    const wide = accumulatorOf(dtype);
    const parts = {
      collective,
      dtype,
      schedule,
      number: scheduleNumber(schedule),
      combine: combineKernel(wide, elementaryOp(opOf(collective) ?? 'sum')),
      scratch: allocate(wide, scratchLength),
    };
    const chunks = fusedChunks(schedule, collective);
    if (!chunks) return { ...parts, steps: schedule.rounds.map(stepsOf) };
    return { ...parts, chunks, fold: new Fold(this.#arena, this.#descriptors, this.#size, collective, dtype) };
  }

  /** The elements of the whole buffer that a rank works off: cache lines of its own, so that no two ranks write one line. */
  #share(collective: Collective, dtype: DType, rank: number, length: number): readonly [begin: number, end: number] {
    if (collective.kind === 'reduce-scatter') return [(rank * length) / this.#size, ((rank + 1) * length) / this.#size];
    const line = 64 / byteSize(outputDType(collective, dtype));
    const share = Math.ceil(length / this.#size / line) * line;
    return [Math.min(rank * share, length), Math.min((rank + 1) * share, length)];
  }

  #places(wide: DType): Places {
    const elements = this.#arena.elements(wide);
    const ranks = Array.from({ length: this.#size }, (_, rank) => rank);
    return {
      arrays: ranks.map(() => elements),
      offsets: ranks.map((rank) => this.#descriptors.workAt(rank) / byteSize(wide)),
    };
  }
}
