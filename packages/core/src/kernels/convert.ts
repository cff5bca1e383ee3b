import type { CollectiveOp } from '../collectives/collective.js';
import type { DType, TypedArray } from '../values/dtype.js';
import { bfloat16Of, float16Of, float16Values } from '../values/half.js';

/** `into[intoAt + i] = from[fromAt + i]` for `count` elements, converted between a dtype and its accumulator. */
export type ConvertKernel = (into: TypedArray, intoAt: number, from: TypedArray, fromAt: number, count: number) => void;

/** The kernel that converts elements to the accumulator of their dtype for an op. */
export function widenKernel(dtype: DType, op: CollectiveOp): ConvertKernel {
  if (dtype === 'float16') return widenFloat16 as ConvertKernel;
  if (dtype === 'bfloat16') return widenBfloat16 as ConvertKernel;
  const isBig = dtype === 'int64' || dtype === 'uint64';
  // Typed arrays of other integers are converted by `set`.
  return isBig && op === 'mean' ? (widenBigIntegers as ConvertKernel) : copyRange;
}

/** The kernel that rounds float32 to 16-bit floats, to nearest even, and copies all other types. */
export function narrowKernel(dtype: DType): ConvertKernel {
  if (dtype === 'float16') return narrowFloat16 as ConvertKernel;
  return dtype === 'bfloat16' ? (narrowBfloat16 as ConvertKernel) : copyRange;
}

/**
 * Copies elements between arrays of one type, or of integers to floats; ranges of one array may
 * overlap.
 */
export function copyRange(into: TypedArray, intoAt: number, from: TypedArray, fromAt: number, count: number): void {
  if (into === from) (into as Float32Array).copyWithin(intoAt, fromAt, fromAt + count);
  else (into as Float32Array).set((from as Float32Array).subarray(fromAt, fromAt + count), intoAt);
}

// The loops use int32 indices, like those of the generated kernels.

function widenFloat16(into: Float32Array, intoAt: number, from: Uint16Array, fromAt: number, count: number): void {
  const values = float16Values();
  const [to, at, length] = [intoAt | 0, fromAt | 0, count | 0];
  for (let i = 0; i < length; i++) into[to + i] = values[from[at + i] as number] as number;
}

function widenBfloat16(into: Float32Array, intoAt: number, from: Uint16Array, fromAt: number, count: number): void {
  const bits = bitsOf(into);
  const [to, at, length] = [intoAt | 0, fromAt | 0, count | 0];
  for (let i = 0; i < length; i++) bits[to + i] = (from[at + i] as number) << 16;
}

function widenBigIntegers(
  into: Float64Array,
  intoAt: number,
  from: BigInt64Array | BigUint64Array,
  fromAt: number,
  count: number,
): void {
  const [to, at, length] = [intoAt | 0, fromAt | 0, count | 0];
  for (let i = 0; i < length; i++) into[to + i] = Number(from[at + i]);
}

function narrowFloat16(into: Uint16Array, intoAt: number, from: Float32Array, fromAt: number, count: number): void {
  const bits = bitsOf(from);
  const [to, at, length] = [intoAt | 0, fromAt | 0, count | 0];
  for (let i = 0; i < length; i++) into[to + i] = float16Of(bits[at + i] as number);
}

function narrowBfloat16(into: Uint16Array, intoAt: number, from: Float32Array, fromAt: number, count: number): void {
  const bits = bitsOf(from);
  const [to, at, length] = [intoAt | 0, fromAt | 0, count | 0];
  for (let i = 0; i < length; i++) into[to + i] = bfloat16Of(bits[at + i] as number);
}

const bitViews = new WeakMap<Float32Array, Uint32Array>();

/** The bits of floats, cached per array because kernels run block by block. */
function bitsOf(floats: Float32Array): Uint32Array {
  let bits = bitViews.get(floats);
  if (!bits) {
    bits = new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
    bitViews.set(floats, bits);
  }
  return bits;
}
