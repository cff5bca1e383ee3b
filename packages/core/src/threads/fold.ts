import { type Collective, opOf, outputDType } from '../collective.js';
import { accumulatorOf, allocate, byteSize, type DType, type TypedArray } from '../dtype.js';
import {
  type CombineKernel,
  combineKernel,
  type DivideKernel,
  divideKernel,
  elementaryOp,
} from '../kernels/combine.js';
import { type ConvertKernel, copyRange, narrowKernel, widenKernel } from '../kernels/convert.js';
import { chainsOf } from '../schedule/chains.js';
import { goalOf } from '../schedule/goal.js';
import type { Schedule } from '../schedule/schedule.js';
import type { Arena } from './arena.js';
import type { Descriptors } from './descriptors.js';

/** A chunk of the whole buffer: whose inputs are combined in which order, and who gets the result. */
export interface FusedChunk {
  readonly chain: readonly number[];
  readonly targets: readonly number[];
}

// Small enough for the first-level cache, large enough to make the calls between passes cheap.
const blockLength = 4096;

/**
 * Reads a chunk from all inputs in the order of its chain and writes the result to all outputs, in one pass over memory:
 * the bits of the schedule without its copies. One fold serves one kind of request.
 */
export class Fold {
  readonly #arena: Arena;
  readonly #descriptors: Descriptors;
  readonly #collective: Collective;
  readonly #dtype: DType;
  readonly #size: number;
  readonly #combine: CombineKernel;
  readonly #widen: ConvertKernel;
  readonly #narrow: ConvertKernel;
  readonly #divide: DivideKernel | undefined;
  readonly #sum: TypedArray;
  readonly #next: TypedArray;
  readonly #quotient: TypedArray;

  constructor(arena: Arena, descriptors: Descriptors, size: number, collective: Collective, dtype: DType) {
    const wide = accumulatorOf(dtype);
    const op = opOf(collective);
    const output = outputDType(collective, dtype);
    this.#arena = arena;
    this.#descriptors = descriptors;
    this.#collective = collective;
    this.#dtype = dtype;
    this.#size = size;
    this.#combine = combineKernel(wide, elementaryOp(op ?? 'sum'));
    this.#widen = widenKernel(dtype);
    this.#narrow = narrowKernel(output);
    this.#divide = op === 'mean' ? divideKernel(wide) : undefined;
    this.#sum = allocate(wide, blockLength);
    this.#next = allocate(wide, blockLength);
    this.#quotient = allocate(accumulatorOf(output), blockLength);
  }

  /** Folds the elements from `begin` to `end` of a whole buffer of `length` elements. */
  play({ chain, targets }: FusedChunk, begin: number, end: number, length: number): void {
    for (let block = begin; block < end; block += blockLength) {
      this.#playBlock(chain, targets, block, Math.min(blockLength, end - block), length);
    }
  }

  #playBlock(chain: readonly number[], targets: readonly number[], begin: number, count: number, length: number): void {
    const output = this.#arena.elements(outputDType(this.#collective, this.#dtype));
    const first = this.#outputIndex(targets[0] as number, begin, length);
    this.#foldInto(output, first, chain, begin, count, length);
    for (let position = 1; position < targets.length; position++) {
      copyRange(output, this.#outputIndex(targets[position] as number, begin, length), output, first, count);
    }
  }

  // The first target may be an input too, so that it is written only after everything was read.
  #foldInto(
    output: TypedArray,
    at: number,
    chain: readonly number[],
    begin: number,
    count: number,
    length: number,
  ): void {
    const input = this.#arena.elements(this.#dtype);
    const index = (position: number) => this.#inputIndex(chain[position] as number, begin, length);
    const last = chain.length - 1;
    const isPlain = this.#divide === undefined && accumulatorOf(this.#dtype) === this.#dtype;
    if (isPlain && last === 0) {
      copyRange(output, at, input, index(0), count);
    } else if (isPlain && last === 1) {
      this.#combine(output, at, input, index(0), input, index(1), count);
    } else {
      this.#widen(this.#sum, 0, input, index(0), count);
      for (let position = 1; position <= last; position++) this.#add(input, index(position), count);
      this.#finish(output, at, count);
    }
  }

  #add(input: TypedArray, at: number, count: number): void {
    const isWide = accumulatorOf(this.#dtype) === this.#dtype;
    if (!isWide) this.#widen(this.#next, 0, input, at, count);
    this.#combine(this.#sum, 0, this.#sum, 0, isWide ? input : this.#next, isWide ? at : 0, count);
  }

  #finish(output: TypedArray, at: number, count: number): void {
    this.#divide?.(this.#quotient, 0, this.#sum, 0, count, this.#size);
    this.#narrow(output, at, this.#divide ? this.#quotient : this.#sum, 0, count);
  }

  // The elements of the arena at which the whole buffer's element `begin` stands, in what a rank reads and writes.
  #inputIndex(rank: number, begin: number, length: number): number {
    const block = this.#collective.kind === 'all-gather' ? (rank * length) / this.#size : 0;
    return this.#descriptors.inputAt(rank) / byteSize(this.#dtype) + begin - block;
  }

  #outputIndex(rank: number, begin: number, length: number): number {
    const block = this.#collective.kind === 'reduce-scatter' ? (rank * length) / this.#size : 0;
    return this.#descriptors.outputAt(rank) / byteSize(outputDType(this.#collective, this.#dtype)) + begin - block;
  }
}

/** The schedule as chunks to fold; undefined where the order of its arithmetic is not a chain. */
export function fusedChunks(schedule: Schedule, collective: Collective): readonly FusedChunk[] | undefined {
  const goal = goalOf(collective, schedule);
  const ranks = Array.from({ length: schedule.ranks }, (_, rank) => rank);
  return chainsOf(schedule, collective)?.map((chain, chunk) => ({
    chain,
    targets: ranks.filter((rank) => goal.receives(rank, chunk)),
  }));
}
