import { byteSize, type DType, type TypedArray, viewOf } from '../values/dtype.js';
import type { JoinedPieces } from './joined-pieces.js';

/** What goes over a stage, as all ranks have it: blocks of elements, which take the slots by turns. */
export interface StagingShape {
  readonly dtype: DType;
  readonly resultDType: DType;
  /** Elements of a block, going in and coming out. */
  readonly inputLength: number;
  readonly outputLength: number;
  readonly slots: number;
  /** Whether results take the places of inputs, which are of the same form. */
  readonly isInPlace: boolean;
}

export interface StagingMemory {
  readonly bytes: SharedArrayBuffer;
  readonly at: number;
}

/** Shared memory that a rank's private memory goes through, block by block. */
export class StagingBuffer {
  readonly at: number;
  readonly #shape: StagingShape;
  readonly #input: JoinedPieces | undefined;
  readonly #output: JoinedPieces | undefined;
  readonly #inputViews: readonly TypedArray[];
  readonly #outputViews: readonly TypedArray[];

  /** Without an input nothing is loaded, without an output nothing is stored. */
  constructor(
    { bytes, at }: StagingMemory,
    shape: StagingShape,
    input: JoinedPieces | undefined,
    output: JoinedPieces | undefined,
  ) {
    const slots = Array.from({ length: shape.slots }, (_, slot) => slot);
    this.at = at;
    this.#shape = shape;
    this.#input = input;
    this.#output = output;
    this.#inputViews = slots.map((slot) => viewOf(shape.dtype, bytes, at + inputSlot(shape, slot), shape.inputLength));
    this.#outputViews = slots.map((slot) =>
      viewOf(shape.resultDType, bytes, at + outputSlot(shape, slot), shape.outputLength),
    );
  }

  load(block: number): void {
    const { inputLength, slots } = this.#shape;
    const into = this.#inputViews[block % slots] as TypedArray;
    this.#input?.copyTo(into, block * inputLength, (block + 1) * inputLength);
  }

  store(block: number): void {
    const { outputLength, slots } = this.#shape;
    const from = this.#outputViews[block % slots] as TypedArray;
    this.#output?.copyFrom(from, block * outputLength, (block + 1) * outputLength);
  }

  /** Whether all of the private memory is still there. */
  get isWhole(): boolean {
    return (this.#input?.isWhole ?? true) && (this.#output?.isWhole ?? true);
  }
}

export function bytesOfStaging(shape: StagingShape): number {
  const { slots, isInPlace } = shape;
  return slots * bytesOfInput(shape) + (isInPlace ? 0 : slots * bytesOfOutput(shape));
}

/** Where a slot is, from the stage's begin on. */
export function inputSlot(shape: StagingShape, slot: number): number {
  return slot * bytesOfInput(shape);
}

export function outputSlot(shape: StagingShape, slot: number): number {
  const { slots, isInPlace } = shape;
  return isInPlace ? inputSlot(shape, slot) : slots * bytesOfInput(shape) + slot * bytesOfOutput(shape);
}

function bytesOfInput({ dtype, inputLength }: StagingShape): number {
  return inLines(inputLength * byteSize(dtype));
}

function bytesOfOutput({ resultDType, outputLength }: StagingShape): number {
  return inLines(outputLength * byteSize(resultDType));
}

// No two ranks, and no two kinds of elements, share a cache line.
function inLines(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}
