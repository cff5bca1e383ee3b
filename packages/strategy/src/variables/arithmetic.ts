import type { DType, TypedArray } from '@coll/core';
import { decodeNumber, encodeNumber } from '@coll/core/internal';
import { isHalf } from '@coll/core/plugin';

export type Arithmetic = 'add' | 'subtract' | 'multiply' | 'divide' | 'min' | 'max';

/** `into[i] = into[i] op from[i]` for all elements. */
type Loop = (into: Float64Array, from: Float64Array) => void;

// Typed as arrays of numbers; the code also works for 64-bit integers.
const loops: Readonly<Record<Arithmetic, Loop>> = {
  add: (into, from) => {
    for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) + (from[i] as number);
  },
  subtract: (into, from) => {
    for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) - (from[i] as number);
  },
  multiply: (into, from) => {
    for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) * (from[i] as number);
  },
  divide: (into, from) => {
    for (let i = 0; i < into.length; i++) into[i] = (into[i] as number) / (from[i] as number);
  },
  min: (into, from) => {
    for (let i = 0; i < into.length; i++) {
      const other = from[i] as number;
      if (other < (into[i] as number) || Number.isNaN(other)) into[i] = other;
    }
  },
  max: (into, from) => {
    for (let i = 0; i < into.length; i++) {
      const other = from[i] as number;
      if (other > (into[i] as number) || Number.isNaN(other)) into[i] = other;
    }
  },
};

const multiply32Bits: Loop = (into, from) => {
  for (let i = 0; i < into.length; i++) into[i] = Math.imul(into[i] as number, from[i] as number);
};

/**
 * Combines the elements of `into` with those of `from`, which have the same dtype, and stores the
 * results in `into`. Half types are computed in float64 and rounded once; integers wrap around, and
 * their quotients are truncated.
 */
export function calculate(operation: Arithmetic, dtype: DType, into: TypedArray, from: TypedArray): void {
  if (isHalf(dtype)) {
    calculateHalves(operation, dtype, into, from);
    return;
  }
  const is32Bit = dtype === 'int32' || dtype === 'uint32';
  const loop = operation === 'multiply' && is32Bit ? multiply32Bits : loops[operation];
  loop(into as Float64Array, from as Float64Array);
}

function calculateHalves(operation: Arithmetic, dtype: DType, into: TypedArray, from: TypedArray): void {
  const [numbers, others] = [into, from].map((half) =>
    Float64Array.from({ length: half.length }, (_, index) => decodeNumber(half, index, dtype)),
  ) as [Float64Array, Float64Array];
  loops[operation](numbers, others);
  numbers.forEach((number, index) => {
    into[index] = encodeNumber(number, dtype) as number;
  });
}
