import type { CollectiveOp } from '../src/collectives/collective.js';
import { type DType, quotientOf, type TypedArray } from '../src/values/dtype.js';
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from '../src/values/half.js';

type Element = number | bigint;

/** Elements combined from left to right, one by one, in the definition's words; as they are stored. */
export function plainCombine(op: CollectiveOp, dtype: DType, arrays: readonly TypedArray[]): Element[] {
  const result = op === 'mean' ? quotientOf(dtype) : dtype;
  const combined = Array.from({ length: arrays[0]?.length ?? 0 }, (_, index) => {
    const elements = arrays.map((array) => widened(array[index] as Element, dtype));
    if (op !== 'mean') return elements.reduce((left, right) => rounded(combineTwo(op, dtype, left, right), dtype));
    const sum = elements.reduce((left, right) => rounded(Number(left) + Number(right), result));
    return Number(sum) / arrays.length;
  });
  return combined.map((element) => narrowed(element, result));
}

function combineTwo(op: CollectiveOp, dtype: DType, a: Element, b: Element): Element {
  if (dtype === 'bool') return Number(op === 'sum' || op === 'max' ? a !== 0 || b !== 0 : a !== 0 && b !== 0);
  if (op === 'min' || op === 'max') return extreme(op, a, b);
  if (isFloat(dtype)) return op === 'product' ? Number(a) * Number(b) : Number(a) + Number(b);
  return op === 'product' ? BigInt(a) * BigInt(b) : BigInt(a) + BigInt(b);
}

function extreme(op: 'min' | 'max', a: Element, b: Element): Element {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN;
  const isFirstSmaller = a < b || (a === b && Object.is(a, -0));
  return isFirstSmaller === (op === 'min') ? a : b;
}

function isFloat(dtype: DType): boolean {
  return ['float16', 'bfloat16', 'float32', 'float64'].includes(dtype);
}

/** What an accumulator keeps of an exact result. */
function rounded(value: Element, dtype: DType): Element {
  if (dtype === 'float64' || dtype === 'bool') return value;
  if (isFloat(dtype)) return Math.fround(Number(value));
  const bits = Number(/\d+$/.exec(dtype)?.[0]);
  const wrapped = dtype.startsWith('u') ? BigInt.asUintN(bits, BigInt(value)) : BigInt.asIntN(bits, BigInt(value));
  return bits === 64 ? wrapped : Number(wrapped);
}

function widened(element: Element, dtype: DType): Element {
  if (dtype === 'float16') return fromFloat16(Number(element));
  return dtype === 'bfloat16' ? fromBfloat16(Number(element)) : element;
}

function narrowed(element: Element, dtype: DType): Element {
  if (dtype === 'float16') return toFloat16(Math.fround(Number(element)));
  if (dtype === 'bfloat16') return toBfloat16(Math.fround(Number(element)));
  return dtype === 'float32' ? Math.fround(Number(element)) : element;
}
