import type { CollectiveOp } from '../collectives/collective.js';
import type { ChunkStep } from '../schedule/fused-chunks.js';
import type { DType, TypedArray } from '../values/dtype.js';

/**
 * Elements that are treated alike. A place locates the first of them: a byte offset in one memory,
 * or an `ArrayPlace`.
 */
export interface FoldRange<Place = number> {
  /** Combined from left to right; with steps, the input of each register. */
  readonly inputs: readonly Place[];
  /** Every output gets the result. An output may be an input, element for element. */
  readonly outputs: readonly Place[];
  readonly count: number;
  /**
   * Arithmetic other than a chain: the operations on the registers, one after the other, and the
   * register of each output.
   */
  readonly steps?: readonly ChunkStep[];
  readonly results?: readonly number[];
}

/** Elements of an array, from an index on. */
export interface ArrayPlace {
  readonly array: TypedArray;
  readonly at: number;
}

/** The operation on elements: combine by an op (a mean is divided by `divisor` at the end), or only move. */
export interface FoldRequest {
  readonly dtype: DType;
  readonly op: CollectiveOp | undefined;
  readonly divisor: number;
}

/** Folds elements of a span from `begin` on in one pass over memory; bits follow the order of arithmetic. */
export type Fold = (begin: number, count: number) => void;

/** Makes folds of one request. Existing folds remain valid when the memory grows. */
export type FoldMaker<Place = number> = (span: FoldRange<Place>) => Fold;

/** The memory that folds work on. */
export interface FoldMemory {
  /** All of it as elements of a dtype. */
  elements(dtype: DType): TypedArray;
  /** Reserves new memory and returns its byte offset. */
  reserve(bytes: number): number;
}

/** Arithmetic on elements at places of one kind. */
export interface Kernels<Place = number> {
  foldMaker(request: FoldRequest): FoldMaker<Place>;
}

/** Makes the kernels of one thread for a memory, shared or its own. */
export type MakeKernels = (memory: FoldMemory) => Kernels;
