import type { CollectiveOp, DType, TypedArray } from '@coll/core';
import { quotientOf } from '@coll/core/plugin';
import { halfFormatOf, halfOfNumber, numberOfHalf } from './half-format.js';

/**
 * The arithmetic whose bits executors must match. It is as simple as possible and computes one
 * element at a time. It uses none of the library's kernels.
 */

/**
 * The value of an element: a number, or a bigint for 64-bit integers. Elements of half types are
 * decoded to numbers, except in functions that document that they take stored elements.
 */
export type Plain = number | bigint;

/** The value of an array element, which is decoded if it has a half type. */
export function plainOf(dtype: DType, element: Plain): Plain {
  const format = halfFormatOf(dtype);
  return format ? numberOfHalf(format, Number(element)) : element;
}

/** The values of all elements of an array. */
export function plainValues(dtype: DType, data: TypedArray): Plain[] {
  const elements = Array.from(data as Iterable<Plain>);
  return halfFormatOf(dtype) ? elements.map((element) => plainOf(dtype, element)) : elements;
}

/** The array element that stores a value: rounded to a float dtype, wrapped around for integers. */
export function storedOf(dtype: DType, value: Plain): Plain {
  const format = halfFormatOf(dtype);
  if (format) return halfOfNumber(format, Number(value));
  if (dtype === 'bool') return Number(value) === 0 ? 0 : 1;
  return isFloat(dtype) ? rounding(dtype)(Number(value)) : wrapped(dtype, BigInt(value));
}

/**
 * Returns a function that combines two values in the precision of their accumulator: half types
 * stay float32 until they are stored, and the sum for a mean of integers has the dtype of the mean.
 */
export function combiner(dtype: DType, op: CollectiveOp): (a: Plain, b: Plain) => Plain {
  if (dtype === 'bool') return combineBools[op] as (a: Plain, b: Plain) => Plain;
  if (!isFloat(dtype) && op === 'mean') {
    const round = rounding(quotientOf(dtype));
    return (a, b) => round(Number(a) + Number(b));
  }
  if (!isFloat(dtype)) return (a, b) => wrapped(dtype, combinedIntegers(op, BigInt(a), BigInt(b)));
  const [round, combine] = [rounding(dtype), combineNumbers[op]];
  return (a, b) => round(combine(a as number, b as number));
}

/**
 * Returns a function that converts the combined value of all contributions to the array element to
 * store. For a mean, it divides the value by the number of contributions.
 */
export function finisher(dtype: DType, op: CollectiveOp | undefined, contributions: number): (value: Plain) => Plain {
  if (op !== 'mean') return (value) => storedOf(dtype, value);
  const quotient = quotientOf(dtype);
  const round = rounding(quotient);
  return (value) => storedOf(quotient, round(Number(value) / contributions));
}

/** Whether two stored elements have the same bits; all NaNs count as equal. */
export function sameElement(dtype: DType, a: Plain | undefined, b: Plain | undefined): boolean {
  if (Object.is(a, b)) return true;
  const format = halfFormatOf(dtype);
  const isNaNHere = (bits: Plain | undefined) => format && Number.isNaN(numberOfHalf(format, Number(bits)));
  return Boolean(isNaNHere(a) && isNaNHere(b));
}

const integers: Partial<Record<DType, readonly [bits: number, isSigned: boolean]>> = {
  int8: [8, true],
  int16: [16, true],
  int32: [32, true],
  int64: [64, true],
  uint8: [8, false],
  uint16: [16, false],
  uint32: [32, false],
  uint64: [64, false],
};

function isFloat(dtype: DType): boolean {
  return dtype.includes('float');
}

/**
 * Returns a function that rounds the result of one operation. Operations on float32 numbers are
 * computed in float64, which gives the correctly rounded float32 result.
 */
function rounding(dtype: DType): (value: number) => number {
  return dtype === 'float64' ? (value) => value : Math.fround;
}

function wrapped(dtype: DType, value: bigint): Plain {
  const [bits, isSigned] = integers[dtype] as readonly [number, boolean];
  const inRange = isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  return bits === 64 ? inRange : Number(inRange);
}

const either = (a: Plain, b: Plain) => (a !== 0 || b !== 0 ? 1 : 0);
const both = (a: Plain, b: Plain) => (a !== 0 && b !== 0 ? 1 : 0);
const combineBools: Partial<Record<CollectiveOp, (a: Plain, b: Plain) => Plain>> = {
  sum: either,
  max: either,
  min: both,
  product: both,
};

const add = (a: number, b: number) => a + b;
const combineNumbers: Record<CollectiveOp, (a: number, b: number) => number> = {
  sum: add,
  mean: add,
  product: (a, b) => a * b,
  min: (a, b) => extreme(a, b, true),
  max: (a, b) => extreme(a, b, false),
};

function extreme(a: number, b: number, isMin: boolean): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN;
  // -0 counts as below 0, although `<` treats them as equal.
  const aIsBelow = a < b || (a === 0 && b === 0 && Object.is(a, -0));
  return aIsBelow === isMin ? a : b;
}

function combinedIntegers(op: CollectiveOp, a: bigint, b: bigint): bigint {
  if (op === 'sum') return a + b;
  if (op === 'product') return a * b;
  return a < b === (op === 'min') ? a : b;
}
