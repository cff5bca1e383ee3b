import { accumulatorOf, outputDType } from '../collectives/collective.js';
import { allocate, byteSize, type DType, isHalf } from '../values/dtype.js';
import {
  type CombineKernel,
  combineKernel,
  type DivideKernel,
  divideKernel,
  elementaryOp,
  nextKernel,
  pairKernel,
} from './combine.js';
import { type ConvertKernel, copyRange, narrowKernel, widenKernel } from './convert.js';
import type { ArrayLocation, Fold, FoldMaker, FoldMemory, FoldRange, FoldRequest, Kernels } from './fold.js';

// Small enough for the L1 cache, large enough to amortize the calls between passes.
const blockLength = 8192;

/** Arithmetic in plain JavaScript, block by block, on any arrays. */
export const arrayKernels: Kernels<ArrayLocation> = {
  foldMaker: (request) => new RequestKernels(request).foldMaker,
};

/** Like `arrayKernels`, but for elements at byte offsets in one memory. */
export function javascriptKernels(memory: FoldMemory): Kernels {
  const placesIn = (dtype: DType, offsets: readonly number[]): ArrayLocation[] => {
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

/** Kernels that combine a list of places from left to right. */
interface Chain {
  /** For a single place. */
  readonly only: ConvertKernel;
  /** For the first two places. */
  readonly pair: CombineKernel;
  /** For the result so far and a further place. */
  readonly next: CombineKernel;
}

/** The kernels and buffers of one kind of request. */
class RequestKernels {
  readonly #accumulator: DType;
  readonly #divisor: number;
  readonly #combine: CombineKernel;
  readonly #load: ConvertKernel;
  /** Combines inputs; not for 16-bit floats, which are converted first. */
  readonly #inputs: Chain;
  /** Combines registers, which hold accumulators. */
  readonly #sums: Chain;
  /** Converts 16-bit floats. */
  readonly #widen: ConvertKernel | undefined;
  readonly #narrow: ConvertKernel | undefined;
  readonly #divide: DivideKernel | undefined;
  readonly #sum: ArrayLocation;
  readonly #next: ArrayLocation;
  readonly #quotient: ArrayLocation;
  readonly #registers: ArrayLocation[] = [];

  constructor(request: FoldRequest) {
    const { dtype, op, divisor } = request;
    // Elements that are only moved need no conversion.
    const wide = op === undefined ? dtype : accumulatorOf(dtype, op);
    const isHalves = op !== undefined && isHalf(dtype);
    this.#accumulator = wide;
    this.#divisor = divisor;
    this.#combine = combineKernel(wide, elementaryOp(op ?? 'sum'));
    this.#load = op === undefined ? copyRange : widenKernel(dtype, op);
    this.#inputs = { only: this.#load, pair: pairKernel(dtype, op ?? 'sum'), next: nextKernel(dtype, op ?? 'sum') };
    this.#sums = { only: copyRange, pair: this.#combine, next: this.#combine };
    this.#widen = isHalves ? this.#load : undefined;
    this.#narrow = isHalves ? narrowKernel(dtype) : undefined;
    this.#divide = op === 'mean' ? divideKernel(wide) : undefined;
    this.#sum = blockOf(wide);
    this.#next = blockOf(wide);
    this.#quotient = blockOf(wide);
  }

  readonly foldMaker: FoldMaker<ArrayLocation> = (span) => (span.steps ? this.#stepFold(span) : this.#chainFold(span));

  #chainFold({ inputs, outputs: [first, ...others] }: FoldRange<ArrayLocation>): Fold {
    if (!first) return () => {};
    return inBlocks((begin, count) => {
      if (this.#widen) this.#addWidened(this.#widen, inputs, begin, count);
      else if (this.#divide) this.#add(this.#inputs, this.#sum, 0, inputs, begin, count);
      else this.#add(this.#inputs, first, begin, inputs, begin, count);
      if (this.#widen || this.#divide) this.#finish(first, begin, this.#sum, count);
      for (const { array, at } of others) copyRange(array, at + begin, first.array, first.at + begin, count);
    });
  }

  // `into` may be one of the inputs, so only the last addition writes to it.
  #add(
    { only, pair, next }: Chain,
    into: ArrayLocation,
    intoAt: number,
    inputs: readonly ArrayLocation[],
    begin: number,
    count: number,
  ): void {
    const [first, second] = inputs as readonly [ArrayLocation, ArrayLocation | undefined];
    const at = into.at + intoAt;
    const last = inputs.length - 1;
    if (!second) only(into.array, at, first.array, first.at + begin, count);
    else if (last === 1) pair(into.array, at, first.array, first.at + begin, second.array, second.at + begin, count);
    else {
      const sum = this.#sum.array;
      pair(sum, 0, first.array, first.at + begin, second.array, second.at + begin, count);
      for (let position = 2; position < last; position++) {
        const input = inputs[position] as ArrayLocation;
        next(sum, 0, sum, 0, input.array, input.at + begin, count);
      }
      const input = inputs[last] as ArrayLocation;
      next(into.array, at, sum, 0, input.array, input.at + begin, count);
    }
  }

  #addWidened(widen: ConvertKernel, inputs: readonly ArrayLocation[], begin: number, count: number): void {
    const [sum, next] = [this.#sum.array, this.#next.array];
    inputs.forEach(({ array, at }, position) => {
      widen(position === 0 ? sum : next, 0, array, at + begin, count);
      if (position > 0) this.#combine(sum, 0, sum, 0, next, 0, count);
    });
  }

  /** Writes accumulated elements to an output: divided, rounded, or unchanged. */
  #finish(into: ArrayLocation, begin: number, from: ArrayLocation, count: number): void {
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

  #stepFold({ inputs, outputs, steps = [], results = [] }: FoldRange<ArrayLocation>): Fold {
    while (this.#registers.length < inputs.length) this.#registers.push(blockOf(this.#accumulator));
    const registers = this.#registers;
    const load = this.#load;
    return inBlocks((begin, count) => {
      inputs.forEach(({ array, at }, rank) => {
        load((registers[rank] as ArrayLocation).array, 0, array, at + begin, count);
      });
      for (const { to, operands } of steps) {
        const places = operands.map((operand) => registers[operand] as ArrayLocation);
        this.#add(this.#sums, registers[to] as ArrayLocation, 0, places, 0, count);
      }
      outputs.forEach((output, position) => {
        this.#finish(output, begin, registers[results[position] as number] as ArrayLocation, count);
      });
    });
  }
}

function blockOf(dtype: DType): ArrayLocation {
  return { array: allocate(dtype, blockLength), at: 0 };
}

function inBlocks(fold: Fold): Fold {
  return (begin, count) => {
    const end = begin + count;
    for (let block = begin; block < end; block += blockLength) fold(block, Math.min(blockLength, end - block));
  };
}
