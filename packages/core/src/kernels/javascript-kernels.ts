import { outputDType } from '../collectives/collective.js';
import { accumulatorOf, allocate, byteSize, type DType, isHalf } from '../values/dtype.js';
import { type CombineKernel, combineKernel, type DivideKernel, divideKernel, elementaryOp } from './combine.js';
import { type ConvertKernel, copyRange, narrowKernel, widenKernel } from './convert.js';
import type { ArrayPlace, Fold, FoldMaker, FoldMemory, FoldRange, FoldRequest, Kernels } from './fold.js';

// Small enough for the L1 cache, large enough to amortize the calls between passes.
const blockLength = 8192;

/** Arithmetic in plain JavaScript, block by block, on any arrays. */
export const arrayKernels: Kernels<ArrayPlace> = {
  foldMaker: (request) => new RequestKernels(request).foldMaker,
};

/** Like `arrayKernels`, but for elements at byte offsets in one memory. */
export function javascriptKernels(memory: FoldMemory): Kernels {
  const placesIn = (dtype: DType, offsets: readonly number[]): ArrayPlace[] => {
    const array = memory.elements(dtype);
    return offsets.map((offset) => ({ array, at: offset / byteSize(dtype) }));
  };
  return {
    foldMaker(request) {
      const makeFold = arrayKernels.foldMaker(request);
      const { dtype } = request;
      const outputDType = outputDTypeOf(request);
      return (span) =>
        makeFold({ ...span, inputs: placesIn(dtype, span.inputs), outputs: placesIn(outputDType, span.outputs) });
    },
  };
}

function outputDTypeOf({ dtype, op }: FoldRequest): DType {
  return op === undefined ? dtype : outputDType({ kind: 'all-reduce', op }, dtype);
}

/** The kernels and buffers of one kind of request. */
class RequestKernels {
  readonly #dtype: DType;
  readonly #divisor: number;
  readonly #combine: CombineKernel;
  readonly #widen: ConvertKernel | undefined;
  readonly #narrow: ConvertKernel | undefined;
  readonly #divide: DivideKernel | undefined;
  readonly #sum: ArrayPlace;
  readonly #next: ArrayPlace;
  readonly #quotient: ArrayPlace;
  readonly #registers: ArrayPlace[] = [];

  constructor(request: FoldRequest) {
    const { dtype, op, divisor } = request;
    const wide = accumulatorOf(dtype);
    this.#dtype = dtype;
    this.#divisor = divisor;
    this.#combine = combineKernel(wide, elementaryOp(op ?? 'sum'));
    // Halves that are only moved need no conversion.
    this.#widen = op !== undefined && isHalf(dtype) ? widenKernel(dtype) : undefined;
    this.#narrow = op !== undefined && isHalf(dtype) ? narrowKernel(dtype) : undefined;
    this.#divide = op === 'mean' ? divideKernel(wide) : undefined;
    this.#sum = blockOf(wide);
    this.#next = blockOf(wide);
    this.#quotient = blockOf(accumulatorOf(outputDTypeOf(request)));
  }

  readonly foldMaker: FoldMaker<ArrayPlace> = (span) => (span.steps ? this.#stepFold(span) : this.#chainFold(span));

  #chainFold({ inputs, outputs: [first, ...others] }: FoldRange<ArrayPlace>): Fold {
    if (!first) return () => {};
    return inBlocks((begin, count) => {
      if (this.#widen) this.#addWidened(this.#widen, inputs, begin, count);
      else if (this.#divide) this.#add(this.#sum, 0, inputs, begin, count);
      else this.#add(first, begin, inputs, begin, count);
      if (this.#widen || this.#divide) this.#finish(first, begin, this.#sum, count);
      for (const { array, at } of others) copyRange(array, at + begin, first.array, first.at + begin, count);
    });
  }

  // `into` may be one of the inputs, so only the last addition writes to it.
  #add(into: ArrayPlace, intoAt: number, inputs: readonly ArrayPlace[], begin: number, count: number): void {
    const [first, second] = inputs as readonly [ArrayPlace, ArrayPlace | undefined];
    const at = into.at + intoAt;
    const last = inputs.length - 1;
    if (!second) copyRange(into.array, at, first.array, first.at + begin, count);
    else if (last === 1)
      this.#combine(into.array, at, first.array, first.at + begin, second.array, second.at + begin, count);
    else {
      const sum = this.#sum.array;
      this.#combine(sum, 0, first.array, first.at + begin, second.array, second.at + begin, count);
      for (let position = 2; position < last; position++) {
        const next = inputs[position] as ArrayPlace;
        this.#combine(sum, 0, sum, 0, next.array, next.at + begin, count);
      }
      const next = inputs[last] as ArrayPlace;
      this.#combine(into.array, at, sum, 0, next.array, next.at + begin, count);
    }
  }

  #addWidened(widen: ConvertKernel, inputs: readonly ArrayPlace[], begin: number, count: number): void {
    const [sum, next] = [this.#sum.array, this.#next.array];
    inputs.forEach(({ array, at }, position) => {
      widen(position === 0 ? sum : next, 0, array, at + begin, count);
      if (position > 0) this.#combine(sum, 0, sum, 0, next, 0, count);
    });
  }

  /** Writes accumulated elements to an output: divided, rounded, or unchanged. */
  #finish(into: ArrayPlace, begin: number, from: ArrayPlace, count: number): void {
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

  #stepFold({ inputs, outputs, steps = [], results = [] }: FoldRange<ArrayPlace>): Fold {
    while (this.#registers.length < inputs.length) this.#registers.push(blockOf(accumulatorOf(this.#dtype)));
    const registers = this.#registers;
    const load = this.#widen ?? copyRange;
    return inBlocks((begin, count) => {
      inputs.forEach(({ array, at }, rank) => {
        load((registers[rank] as ArrayPlace).array, 0, array, at + begin, count);
      });
      for (const { to, operands } of steps) {
        const places = operands.map((operand) => registers[operand] as ArrayPlace);
        this.#add(registers[to] as ArrayPlace, 0, places, 0, count);
      }
      outputs.forEach((output, position) => {
        this.#finish(output, begin, registers[results[position] as number] as ArrayPlace, count);
      });
    });
  }
}

function blockOf(dtype: DType): ArrayPlace {
  return { array: allocate(dtype, blockLength), at: 0 };
}

function inBlocks(play: Fold): Fold {
  return (begin, count) => {
    const end = begin + count;
    for (let block = begin; block < end; block += blockLength) play(block, Math.min(blockLength, end - block));
  };
}
