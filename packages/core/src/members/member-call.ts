import {
  type Collective,
  inputBlocks,
  nameOf,
  outputBlocks,
  outputDType,
  reads,
  writes,
} from '../collectives/collective.js';
import type { Segments } from '../runtime/communicator.js';
import { ValueError } from '../support/errors.js';
import { asGiven } from '../values/array-kinds.js';
import type { DType } from '../values/dtype.js';
import { shapeLayoutOf } from '../values/layout.js';
import { asMemory, asTensor, sameShape, type Tensor, zeros } from '../values/tensor.js';

/** The buffers of one rank's call, and its result. */
export interface MemberCall {
  readonly collective: Collective;
  readonly input: Segments;
  readonly output: Segments;
  /**
   * The value returned to the caller: an array for an array, a tensor for a tensor, a list for a
   * list. Undefined at ranks without a result.
   */
  readonly result: unknown;
  /** Hash of the shapes of the values, which must be equal on all ranks; 0 for arrays. */
  readonly layout: number;
  /** Length of the list of values; 0 for a single value. */
  readonly valueCount: number;
}

/** The calling rank and its arguments. */
export interface MemberCallOptions {
  readonly rank: number;
  readonly size: number;
  /** The rank's value: an array, a tensor or a tensor carrier, or a list of them for collectives that accept lists. */
  readonly value: unknown;
  /** Memory for the result, in the form of `value`. Default: new memory. */
  readonly into?: unknown;
}

/**
 * Makes the buffers of a call. A buffer that the rank neither reads nor writes is empty.
 * @throws ValueError for a value that is not a tensor, a length that must be divisible by the
 * number of ranks but is not, a list for a collective without lists, or an `into` of another form
 * or shape
 */
export function memberCall(collective: Collective, options: MemberCallOptions): MemberCall {
  try {
    return callOf(collective, options);
  } catch (error) {
    throw withDetails(error, nameOf(collective), options.rank);
  }
}

function callOf(collective: Collective, options: MemberCallOptions): MemberCall {
  const { value, into } = options;
  if (!Array.isArray(value)) {
    const { given, input, output, result } = buffersOf(collective, options, value, into);
    return { collective, input, output, result, layout: shapeLayoutOf(given), valueCount: 0 };
  }
  requireLists(collective, value, into, options.rank);
  const buffers = value.map((part, index) => buffersOf(collective, options, part, (into as unknown[])?.[index]));
  const hasResult = writes(collective, options.rank);
  return {
    collective,
    input: buffers.map(({ input }) => input),
    output: buffers.map(({ output }) => output),
    result: hasResult ? buffers.map(({ result }) => result) : undefined,
    layout: shapeLayoutOf(buffers.map(({ given }) => given)),
    valueCount: value.length,
  };
}

/**
 * Makes the buffers of a scatter of rank `root`. All ranks compare the shape of a block.
 * @throws ValueError if the root has no value, or another rank has one; for a length that is not
 * divisible by the number of ranks, and for an `into` of another shape than a block
 */
export function scatterCall(root: number, options: MemberCallOptions): MemberCall {
  const collective: Collective = { kind: 'scatter', root };
  try {
    return callOfScatter(collective, root, options);
  } catch (error) {
    throw withDetails(error, nameOf(collective), options.rank);
  }
}

/** An error of a value, with the operation and the rank, unless the error states them. */
export function withDetails(error: unknown, operation: string, rank: number): unknown {
  if (!(error instanceof ValueError) || error.operation !== undefined) return error;
  return new ValueError(error.code, `${operation}: rank ${rank}: ${error.message}`, { operation, rank, cause: error });
}

function callOfScatter(
  collective: Collective,
  root: number,
  { rank, size, value, into }: MemberCallOptions,
): MemberCall {
  if ((rank === root) !== (value !== undefined)) {
    const operation = nameOf(collective);
    const message = value === undefined ? 'the root must pass the value to scatter' : 'only the root may pass a value';
    throw new ValueError('ERR_COLL_VALUE', `${operation}: rank ${rank}: ${message}`, { operation, rank });
  }
  const output = asMemory(into);
  const layout = shapeLayoutOf(output);
  if (value === undefined)
    return { collective, input: empty(output.dtype), output, result: into, layout, valueCount: 0 };
  const input = asTensor(value);
  const shape = shapeOf(collective, input, size, rank);
  if (!ArrayBuffer.isView(into)) requireShape(collective, output, shape, rank);
  return { collective, input, output, result: into, layout, valueCount: 0 };
}

interface Buffers {
  /** The rank's value as a tensor. */
  readonly given: Tensor;
  readonly input: Tensor;
  readonly output: Tensor;
  readonly result: unknown;
}

function buffersOf(collective: Collective, { rank, size }: MemberCallOptions, value: unknown, into: unknown): Buffers {
  const given = asTensor(value);
  const dtype = outputDType(collective, given.dtype);
  const input = reads(collective, rank) ? given : empty(given.dtype);
  if (!writes(collective, rank)) return { given, input, output: empty(dtype), result: undefined };
  const shape = shapeOf(collective, given, size, rank);
  const output = into === undefined ? zeros(dtype, shape) : asMemory(into);
  if (into !== undefined && !ArrayBuffer.isView(into)) requireShape(collective, output, shape, rank);
  if (into !== undefined) return { given, input, output, result: into };
  const result = asGiven(output, given);
  return { given, input, output, result: ArrayBuffer.isView(value) ? result.data : result };
}

/** @throws ValueError for a tensor of another shape than the result */
function requireShape(collective: Collective, into: Tensor, shape: readonly number[], rank: number): void {
  // Engines compare the lengths of flat results, and name what they must be.
  if ((into.shape.length === 1 && shape.length === 1) || sameShape(into.shape, shape)) return;
  const operation = nameOf(collective);
  const message = `into must have the shape of the result, [${shape}], got [${into.shape}]`;
  throw new ValueError('ERR_COLL_BUFFER', `${operation}: rank ${rank}: ${message}`, { operation, rank });
}

/**
 * The result's shape: the first dimension is multiplied or divided by the number of ranks. If only
 * the number of elements is divisible, but not the first dimension, the result is flat.
 * @throws ValueError if the number of elements is not divisible either
 */
function shapeOf(collective: Collective, { shape, data }: Tensor, size: number, rank: number): readonly number[] {
  const [first = 1, ...others] = shape;
  const [into, outOf] = [outputBlocks(collective, size), inputBlocks(collective, size)];
  if (into === outOf) return shape;
  const length = (data.length * into) / outOf;
  if (!Number.isInteger(length)) throw doesNotDivide(collective, data.length, size, rank);
  const rows = (first * into) / outOf;
  return Number.isInteger(rows) ? [rows, ...others] : [length];
}

function requireLists(collective: Collective, values: readonly unknown[], into: unknown, rank: number): void {
  const details = { operation: nameOf(collective), rank };
  const number = values.findIndex((value) => typeof value === 'number');
  if (number >= 0) {
    const message = `a list must contain arrays or tensors, got the number ${values[number]} at index ${number}`;
    const advice = 'pass numbers in one typed array, such as Float32Array.of(1, 2)';
    const operation = `${details.operation}: rank ${rank}`;
    throw new ValueError('ERR_COLL_VALUE', `${operation}: ${message}; ${advice}`, details);
  }
  const { kind } = collective;
  if (kind !== 'all-reduce' && kind !== 'reduce' && kind !== 'broadcast') {
    const message = `${kind} takes one array or tensor, got a list; only all-reduce, reduce and broadcast take lists`;
    throw new ValueError('ERR_COLL_VALUE', `${details.operation}: ${message}`, details);
  }
  if (values.length === 0)
    throw new ValueError('ERR_COLL_VALUE', `${details.operation}: the list of values is empty`, details);
  if (into === undefined || (Array.isArray(into) && into.length === values.length)) return;
  const message = `into must be a list of ${values.length} results, one per value`;
  throw new ValueError('ERR_COLL_VALUE', `${details.operation}: ${message}`, details);
}

function doesNotDivide(collective: Collective, length: number, size: number, rank: number): ValueError {
  const operation = nameOf(collective);
  const message = `the number of elements must be divisible by the number of ranks, got ${length} elements for ${size} ranks`;
  return new ValueError('ERR_COLL_BUFFER', `${operation}: rank ${rank}: ${message}`, { operation, rank });
}

function empty(dtype: DType): Tensor {
  return zeros(dtype, [0]);
}
