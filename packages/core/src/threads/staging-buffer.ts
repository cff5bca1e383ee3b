import type { JoinedSegments } from '../runtime/joined-segments.js';
import { byteSize, type DType, type TypedArray, viewOf } from '../values/dtype.js';

/**
 * The shape of staging buffers (shared memory for copies), equal on all ranks. Successive blocks
 * use the slots in turn.
 */
export interface StagingShape {
  readonly dtype: DType;
  readonly resultDType: DType;
  /** Number of elements of an input block (`outputLength`: of an output block). */
  readonly inputLength: number;
  readonly outputLength: number;
  readonly slots: number;
  /** Whether results overwrite inputs; both then have the same dtype and length. */
  readonly isInPlace: boolean;
}

export interface StagingMemory {
  readonly bytes: SharedArrayBuffer;
  readonly at: number;
}

/** Shared memory through which a rank's private memory is copied, block by block. */
export class StagingBuffer {
  readonly at: number;
  readonly #shape: StagingShape;
  readonly #input: JoinedSegments | undefined;
  readonly #output: JoinedSegments | undefined;
  readonly #inputViews: readonly TypedArray[];
  readonly #outputViews: readonly TypedArray[];

  /** If `input` is undefined, `load` does nothing; if `output` is undefined, `store` does nothing. */
  constructor(
    { bytes, at }: StagingMemory,
    shape: StagingShape,
    input: JoinedSegments | undefined,
    output: JoinedSegments | undefined,
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

  /** Whether the private memory is intact, that is, not transferred by its owner. */
  get isWhole(): boolean {
    return (this.#input?.isWhole ?? true) && (this.#output?.isWhole ?? true);
  }
}

export function bytesOfStaging(shape: StagingShape): number {
  const { slots, isInPlace } = shape;
  return slots * bytesOfInput(shape) + (isInPlace ? 0 : slots * bytesOfOutput(shape));
}

/** Byte offset of an input slot within a staging buffer. */
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

// Rounds up to whole cache lines: no two ranks, and no inputs and outputs, share one.
function inLines(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}
