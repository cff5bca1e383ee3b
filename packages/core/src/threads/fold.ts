import { type Collective, opOf, outputDType } from '../collective.js';
import { accumulatorOf, allocate, byteSize, type DType, isHalf, type TypedArray } from '../dtype.js';
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
  readonly #outputDType: DType;
  readonly #size: number;
  readonly #combine: CombineKernel;
  readonly #widen: ConvertKernel | undefined;
  readonly #narrow: ConvertKernel | undefined;
  readonly #divide: DivideKernel | undefined;
  readonly #sum: TypedArray;
  readonly #next: TypedArray;
  readonly #quotient: TypedArray;

  constructor(arena: Arena, descriptors: Descriptors, size: number, collective: Collective, dtype: DType) {
    const wide = accumulatorOf(dtype);
    const op = opOf(collective);
    this.#arena = arena;
    this.#descriptors = descriptors;
    this.#collective = collective;
    this.#dtype = dtype;
    this.#outputDType = outputDType(collective, dtype);
    this.#size = size;
    this.#combine = combineKernel(wide, elementaryOp(op ?? 'sum'));
    // Halves that are only moved need not become anything else.
    this.#widen = op !== undefined && isHalf(dtype) ? widenKernel(dtype) : undefined;
    this.#narrow = op !== undefined && isHalf(dtype) ? narrowKernel(dtype) : undefined;
    this.#divide = op === 'mean' ? divideKernel(wide) : undefined;
    this.#sum = allocate(wide, blockLength);
    this.#next = allocate(wide, blockLength);
    this.#quotient = allocate(accumulatorOf(this.#outputDType), blockLength);
  }

  /** Folds the elements from `begin` to `end` of a whole buffer of `length` elements. */
  play({ chain, targets }: FusedChunk, begin: number, end: number, length: number): void {
    const output = this.#arena.elements(this.#outputDType);
    for (let block = begin; block < end; block += blockLength) {
      const count = Math.min(blockLength, end - block);
      const first = this.#outputIndex(targets[0] as number, block, length);
      this.#foldInto(output, first, chain, block, count, length);
      for (let position = 1; position < targets.length; position++) {
        copyRange(output, this.#outputIndex(targets[position] as number, block, length), output, first, count);
      }
    }
  }

  #foldInto(
    output: TypedArray,
    at: number,
    chain: readonly number[],
    begin: number,
    count: number,
    length: number,
  ): void {
    if (!this.#divide && !this.#widen) {
      this.#add(output, at, chain, begin, count, length);
      return;
    }
    if (this.#widen) this.#addWidened(this.#widen, chain, begin, count, length);
    else this.#add(this.#sum, 0, chain, begin, count, length);
    this.#finish(output, at, count);
  }

  // `into` may be one of the inputs, so that it is written only by the last addition.
  #add(into: TypedArray, at: number, chain: readonly number[], begin: number, count: number, length: number): void {
    const input = this.#arena.elements(this.#dtype);
    const first = this.#inputIndex(chain[0] as number, begin, length);
    const last = chain.length - 1;
    if (last === 0) copyRange(into, at, input, first, count);
    for (let position = 1; position <= last; position++) {
      const [left, leftAt] = position === 1 ? [input, first] : [this.#sum, 0];
      const [sum, sumAt] = position === last ? [into, at] : [this.#sum, 0];
      const right = this.#inputIndex(chain[position] as number, begin, length);
      this.#combine(sum, sumAt, left, leftAt, input, right, count);
    }
  }

  #addWidened(widen: ConvertKernel, chain: readonly number[], begin: number, count: number, length: number): void {
    const input = this.#arena.elements(this.#dtype);
    widen(this.#sum, 0, input, this.#inputIndex(chain[0] as number, begin, length), count);
    for (let position = 1; position < chain.length; position++) {
      widen(this.#next, 0, input, this.#inputIndex(chain[position] as number, begin, length), count);
      this.#combine(this.#sum, 0, this.#sum, 0, this.#next, 0, count);
    }
  }

  #finish(output: TypedArray, at: number, count: number): void {
    if (!this.#narrow) {
      this.#divide?.(output, at, this.#sum, 0, count, this.#size);
      return;
    }
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
    return this.#descriptors.outputAt(rank) / byteSize(this.#outputDType) + begin - block;
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
