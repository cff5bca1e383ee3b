import type { CollectiveOp } from '../collectives/collective.js';
import type { ChunkStep } from '../schedule/fused-chunks.js';
import type { DType, TypedArray } from '../values/dtype.js';

/** Elements that are worked off alike. A place is where the first of them is: a byte offset of one memory, or an `ArrayPlace`. */
export interface Span<Place = number> {
  /** Combined from left to right; with steps, the input of each register. */
  readonly inputs: readonly Place[];
  /** All of them get the result. An output may be an input, element for element. */
  readonly outputs: readonly Place[];
  readonly count: number;
  /** Arithmetic that is no chain: what happens to the registers, one after the other, and which of them goes to each output. */
  readonly steps?: readonly ChunkStep[];
  readonly results?: readonly number[];
}

/** Elements of an array, from an index on. */
export interface ArrayPlace {
  readonly array: TypedArray;
  readonly at: number;
}

/** What is done to elements: combined by an op, where a mean is divided by `divisor` at the end, or only moved. */
export interface FoldRequest {
  readonly dtype: DType;
  readonly op: CollectiveOp | undefined;
  readonly divisor: number;
}

/** Works off the elements of a span from `begin` on: in one pass over memory, with the bits that the order of arithmetic gives. */
export type Fold = (begin: number, count: number) => void;

/** Makes folds of one request; a memory that has grown in the meantime does no harm to those that are made. */
export type FoldMaker<Place = number> = (span: Span<Place>) => Fold;

/** The memory that folds work on. */
export interface FoldMemory {
  /** All of it, as elements of a dtype. */
  elements(dtype: DType): TypedArray;
  /** Byte offset of new memory. */
  reserve(bytes: number): number;
}

/** Arithmetic on elements at places of one kind. */
export interface Kernels<Place = number> {
  foldMaker(request: FoldRequest): FoldMaker<Place>;
}

/** Makes the kernels of one thread, which has a memory with others or alone. */
export type MakeKernels = (memory: FoldMemory) => Kernels;
