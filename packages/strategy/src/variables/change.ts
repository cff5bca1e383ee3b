import {
  asTensor,
  DistributedValues,
  IndexedSlices,
  type Tensor,
  type TypedArray,
  type Value,
  ValueError,
  WrongTypeError,
} from '@coll/core';
import { quote } from '@coll/core/internal';
import { elementCount, isFloating } from '@coll/core/plugin';
import { type Arithmetic, calculate } from './arithmetic.js';
import { fromPlainNumbers } from './plain-numbers.js';
import type { VariableTraits } from './variable-options.js';

/** The changes of a variable, by method name. */
export type Change =
  | 'assign'
  | 'assignAdd'
  | 'assignSub'
  | 'scatterAdd'
  | 'scatterSub'
  | 'scatterMul'
  | 'scatterDiv'
  | 'scatterMin'
  | 'scatterMax'
  | 'scatterUpdate';

/** The operation on each element; changes without an operation replace the element. */
const arithmeticOf: Partial<Record<Change, Arithmetic>> = {
  assignAdd: 'add',
  assignSub: 'subtract',
  scatterAdd: 'add',
  scatterSub: 'subtract',
  scatterMul: 'multiply',
  scatterDiv: 'divide',
  scatterMin: 'min',
  scatterMax: 'max',
};

export function isScatter(change: Change): boolean {
  return change.startsWith('scatter');
}

/**
 * The value of a change, as a tensor or slices of the variable's dtype.
 * @throws ValueError for a different dtype or shape, or rows out of range; WrongTypeError if a
 * scatter change gets a value that is not IndexedSlices
 */
export function changeValue(traits: VariableTraits, change: Change, value: unknown): Value {
  const ready = isScatter(change) ? slicesOf(value, traits, change) : tensorOf(value, traits, change);
  if (ready.dtype !== traits.dtype) throw unfit(traits, change, `values must be ${traits.dtype}, got ${ready.dtype}`);
  if (arithmeticOf[change] && traits.dtype === 'bool')
    throw unfit(traits, change, 'bool variables cannot be added to or subtracted from');
  if (change === 'scatterDiv' && !isFloating(traits.dtype)) requireNoZero(ready, traits);
  if (ready instanceof IndexedSlices) requireRows(ready, traits, change);
  else requireShape(ready, traits, change);
  return ready;
}

/** Applies a change to memory; the value must come from `changeValue`. */
export function applyChange(memory: Tensor, change: Change, value: Value): void {
  const operation = arithmeticOf[change];
  const apply = (into: TypedArray, from: TypedArray) => {
    if (operation) calculate(operation, memory.dtype, into, from);
    else (into as Float32Array).set(from as Float32Array);
  };
  if (!(value instanceof IndexedSlices)) {
    apply(memory.data, value.data);
    return;
  }
  const { values, indices } = value;
  const length = elementCount(memory.shape.slice(1));
  // Copies rows of the variable's own memory, which must not change before they are read.
  const rows = values.data.buffer === memory.data.buffer ? values.data.slice() : values.data;
  const rowOf = (data: TypedArray, row: number) => data.subarray(row * length, (row + 1) * length);
  indices.data.forEach((into: number | bigint, from: number) => {
    apply(rowOf(memory.data, Number(into)), rowOf(rows, from));
  });
}

function tensorOf(value: unknown, traits: VariableTraits, change: Change): Tensor {
  if (typeof value === 'number' || Array.isArray(value))
    return fromPlainNumbers(value, traits.dtype, `${change} of variable "${traits.name}"`);
  if (value instanceof IndexedSlices)
    throw unfit(traits, change, 'the value must be dense; pass indexed slices to its scatter methods');
  return asTensor(value, `${change} of variable "${traits.name}": the value`);
}

function slicesOf(value: unknown, traits: VariableTraits, change: Change): IndexedSlices {
  if (value instanceof IndexedSlices) return value;
  const given = value instanceof DistributedValues ? value.kind : quote(value);
  throw new WrongTypeError(`${change} of variable "${traits.name}" takes IndexedSlices, got ${given}`, {
    operation: change,
  });
}

function requireShape({ shape }: Tensor, traits: VariableTraits, change: Change): void {
  if (shape.length === traits.shape.length && shape.every((size, axis) => size === traits.shape[axis])) return;
  throw unfit(
    traits,
    change,
    `values must have shape [${traits.shape}], got [${shape}]: tensor(data, { shape: … }) sets the shape`,
  );
}

function requireRows({ values, indices }: IndexedSlices, traits: VariableTraits, change: Change): void {
  const [rows, ...rowShape] = traits.shape;
  if (rows === undefined) throw unfit(traits, change, 'a scalar has no rows to scatter to');
  const given = values.shape.slice(1);
  if (given.length !== rowShape.length || given.some((size, axis) => size !== rowShape[axis]))
    throw unfit(traits, change, `rows must have shape [${rowShape}], got [${given}]`);
  const odd = indices.data.findIndex((index: number | bigint) => index < 0 || index >= rows);
  if (odd >= 0) throw unfit(traits, change, `the variable has ${rows} rows and no row ${indices.data[odd]}`);
}

function requireNoZero(value: Value, traits: VariableTraits): void {
  const divisors = value instanceof IndexedSlices ? value.values.data : value.data;
  if (divisors.some((divisor: number | bigint) => Number(divisor) === 0))
    throw unfit(traits, 'scatterDiv', 'integers cannot be divided by zero');
}

function unfit({ name }: VariableTraits, change: Change, message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `${change} of variable "${name}": ${message}`, { operation: change });
}
