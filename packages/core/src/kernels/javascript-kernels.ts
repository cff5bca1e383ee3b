import { outputDType } from '../collective.js';
import { accumulatorOf, allocate, byteSize, type DType, isHalf, type TypedArray } from '../dtype.js';
import { type CombineKernel, combineKernel, type DivideKernel, divideKernel, elementaryOp } from './combine.js';
import { type ConvertKernel, copyRange, narrowKernel, widenKernel } from './convert.js';
import type { Fold, FoldMaker, FoldMemory, FoldRequest, Kernels, Span } from './fold.js';

// Small enough for the first-level cache, large enough to make the calls between passes cheap.
const blockLength = 4096;

/** Elements of an array, from an index on. */
interface Place {
  readonly array: TypedArray;
  readonly at: number;
}

/** Arithmetic in plain JavaScript, block by block. */
export function javascriptKernels(memory: FoldMemory): Kernels {
  return { foldMaker: (request) => new RequestKernels(memory, request).foldMaker };
}

/** What one kind of request needs. */
class RequestKernels {
  readonly #memory: FoldMemory;
  readonly #dtype: DType;
  readonly #outputDType: DType;
  readonly #divisor: number;
  readonly #combine: CombineKernel;
  readonly #widen: ConvertKernel | undefined;
  readonly #narrow: ConvertKernel | undefined;
  readonly #divide: DivideKernel | undefined;
  readonly #sum: Place;
  readonly #next: Place;
  readonly #quotient: Place;
  readonly #registers: Place[] = [];

  constructor(memory: FoldMemory, { dtype, op, divisor }: FoldRequest) {
    const wide = accumulatorOf(dtype);
    this.#memory = memory;
    this.#dtype = dtype;
    this.#outputDType = op === undefined ? dtype : outputDType({ kind: 'all-reduce', op }, dtype);
    this.#divisor = divisor;
    this.#combine = combineKernel(wide, elementaryOp(op ?? 'sum'));
    // Halves that are only moved need not become anything else.
    this.#widen = op !== undefined && isHalf(dtype) ? widenKernel(dtype) : undefined;
    this.#narrow = op !== undefined && isHalf(dtype) ? narrowKernel(dtype) : undefined;
    this.#divide = op === 'mean' ? divideKernel(wide) : undefined;
    this.#sum = blockOf(wide);
    this.#next = blockOf(wide);
    this.#quotient = blockOf(accumulatorOf(this.#outputDType));
  }

  readonly foldMaker: FoldMaker = (span) => {
    const input = this.#memory.elements(this.#dtype);
    const output = this.#memory.elements(this.#outputDType);
    const inputs = span.inputs.map((at) => ({ array: input, at: at / byteSize(this.#dtype) }));
    const outputs = span.outputs.map((at) => ({ array: output, at: at / byteSize(this.#outputDType) }));
    return span.steps ? this.#stepFold(span, inputs, outputs) : this.#chainFold(inputs, outputs);
  };

  #chainFold(inputs: readonly Place[], [first, ...others]: readonly Place[]): Fold {
    if (!first) return () => {};
    return inBlocks((begin, count) => {
      if (this.#widen) this.#addWidened(this.#widen, inputs, begin, count);
      else if (this.#divide) this.#add(this.#sum, 0, inputs, begin, count);
      else this.#add(first, begin, inputs, begin, count);
      if (this.#widen || this.#divide) this.#finish(first, begin, this.#sum, count);
      for (const { array, at } of others) copyRange(array, at + begin, first.array, first.at + begin, count);
    });
  }

  // `into` may be one of the inputs, so that it is written only by the last addition.
  #add(into: Place, intoAt: number, inputs: readonly Place[], begin: number, count: number): void {
    const [first, second] = inputs as readonly [Place, Place | undefined];
    const at = into.at + intoAt;
    const last = inputs.length - 1;
    if (!second) copyRange(into.array, at, first.array, first.at + begin, count);
    else if (last === 1)
      this.#combine(into.array, at, first.array, first.at + begin, second.array, second.at + begin, count);
    else {
      const sum = this.#sum.array;
      this.#combine(sum, 0, first.array, first.at + begin, second.array, second.at + begin, count);
      for (let position = 2; position < last; position++) {
        const next = inputs[position] as Place;
        this.#combine(sum, 0, sum, 0, next.array, next.at + begin, count);
      }
      const next = inputs[last] as Place;
      this.#combine(into.array, at, sum, 0, next.array, next.at + begin, count);
    }
  }

  #addWidened(widen: ConvertKernel, inputs: readonly Place[], begin: number, count: number): void {
    const [sum, next] = [this.#sum.array, this.#next.array];
    inputs.forEach(({ array, at }, position) => {
      widen(position === 0 ? sum : next, 0, array, at + begin, count);
      if (position > 0) this.#combine(sum, 0, sum, 0, next, 0, count);
    });
  }

  /** From an accumulator to the output: divided, rounded, or as it is. */
  #finish(into: Place, begin: number, from: Place, count: number): void {
    const at = into.at + begin;
    if (!this.#narrow) {
      if (this.#divide) this.#divide(into.array, at, from.array, from.at, count, this.#divisor);
      else copyRange(into.array, at, from.array, from.at, count);
      return;
    }
    const { array } = this.#quotient;
    this.#divide?.(array, 0, from.array, from.at, count, this.#divisor);
    this.#narrow(into.array, at, this.#divide ? array : from.array, this.#divide ? 0 : from.at, count);
  }

  #stepFold({ steps = [], results = [] }: Span, inputs: readonly Place[], outputs: readonly Place[]): Fold {
    while (this.#registers.length < inputs.length) this.#registers.push(blockOf(accumulatorOf(this.#dtype)));
    const registers = this.#registers;
    const load = this.#widen ?? copyRange;
    return inBlocks((begin, count) => {
      inputs.forEach(({ array, at }, rank) => {
        load((registers[rank] as Place).array, 0, array, at + begin, count);
      });
      for (const { to, operands } of steps) {
        const places = operands.map((operand) => registers[operand] as Place);
        this.#add(registers[to] as Place, 0, places, 0, count);
      }
      outputs.forEach((output, position) => {
        this.#finish(output, begin, registers[results[position] as number] as Place, count);
      });
    });
  }
}

function blockOf(dtype: DType): Place {
  return { array: allocate(dtype, blockLength), at: 0 };
}

function inBlocks(play: Fold): Fold {
  return (begin, count) => {
    const end = begin + count;
    for (let block = begin; block < end; block += blockLength) play(block, Math.min(blockLength, end - block));
  };
}
