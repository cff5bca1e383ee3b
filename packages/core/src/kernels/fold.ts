import type { CollectiveOp } from '../collectives/collective.js';
import type { ChunkStep } from '../schedule/fused-chunks.js';
import type { DType, TypedArray } from '../values/dtype.js';

/**
 * A range of `count` elements to fold (combine). A location is that of the first element of an input or
 * output: a byte offset in one memory, or an `ArrayLocation`.
 */
export interface FoldRange<Location = number> {
  /** Inputs to combine from left to right or, with `steps`, to load into one register each. */
  readonly inputs: readonly Location[];
  /** Without `steps`, every output gets the result. An output may begin at the same element as an input. */
  readonly outputs: readonly Location[];
  readonly count: number;
  /**
   * Operations on registers, executed in order, instead of combining from left to right. `results`
   * states the register of each output.
   */
  readonly steps?: readonly ChunkStep[];
  readonly results?: readonly number[];
}

/** Elements of an array, from index `at` on. */
export interface ArrayLocation {
  readonly array: TypedArray;
  readonly at: number;
}

/**
 * The operation on elements: combine by `op` (a mean is divided by `divisor` at the end) or, if
 * `op` is undefined, only copy.
 */
export interface FoldRequest {
  readonly dtype: DType;
  readonly op: CollectiveOp | undefined;
  readonly divisor: number;
}

/**
 * Combines `count` elements of a fold range, from element `begin` on, in the order that the range
 * states, in one pass over memory.
 */
export type Fold = (begin: number, count: number) => void;

/**
 * Makes folds (functions that combine ranges of elements) for one request. Existing folds remain
 * valid when the memory grows.
 */
export type FoldMaker<Location = number> = (span: FoldRange<Location>) => Fold;

/** The memory that folds work on. */
export interface FoldMemory {
  /** The whole memory as elements of a dtype. */
  elements(dtype: DType): TypedArray;
  /** Reserves new memory and returns its byte offset. */
  reserve(bytes: number): number;
}

/**
 * Makes folds (functions that combine ranges of elements) for one kind of location: byte offsets or
 * positions in arrays.
 */
export interface Kernels<Location = number> {
  foldMaker(request: FoldRequest): FoldMaker<Location>;
}

/** Makes the kernels of one thread, for shared memory or memory of its own. */
export type MakeKernels = (memory: FoldMemory) => Kernels;
