import { divideAll } from './divide';
// biome-ignore lint/style/useImportType: AssemblyScript has no imports of types.
import { copy, Divide, fold, Keep, Multiply } from './fold';
import { foldHalves, narrow, widen as widenHalves } from './fold-halves';
// biome-ignore lint/style/useImportType: AssemblyScript has no imports of types.
import { Bfloat16, Float16 } from './halves';
import { meanOfIntegers, widenIntegers } from './integers';
// biome-ignore lint/style/useImportType: AssemblyScript has no imports of types.
import { And, Max, Min, Or, Product, Sum } from './vectors';

export { copy };

/**
 * The arithmetic of @coll/core on shared memory. Numbers of dtypes and ops are their indices in the lists
 * of @coll/core. `desk` is the address of a list of 32-bit addresses: the inputs, then the outputs.
 */

/** Combines `n` inputs from left to right into `m` outputs. A mean is divided by `divisor` at the end. */
export function combine(desk: usize, dtype: i32, op: i32, n: i32, m: i32, count: i32, divisor: f64): void {
  if (dtype === 0) combineHalves<Float16>(desk, op, n, m, count, divisor);
  else if (dtype === 1) combineHalves<Bfloat16>(desk, op, n, m, count, divisor);
  else if (dtype === 2) combineFloats<f32>(desk, op, n, m, count, divisor);
  else if (dtype === 3) combineFloats<f64>(desk, op, n, m, count, divisor);
  else if (dtype === 4) combineIntegers<i8, f32>(desk, op, n, m, count, divisor);
  else if (dtype === 5) combineIntegers<i16, f32>(desk, op, n, m, count, divisor);
  else if (dtype === 6) combineIntegers<i32, f64>(desk, op, n, m, count, divisor);
  else if (dtype === 7) combineIntegers<i64, f64>(desk, op, n, m, count, divisor);
  else if (dtype === 8) combineIntegers<u8, f32>(desk, op, n, m, count, divisor);
  else if (dtype === 9) combineIntegers<u16, f32>(desk, op, n, m, count, divisor);
  else if (dtype === 10) combineIntegers<u32, f64>(desk, op, n, m, count, divisor);
  else if (dtype === 11) combineIntegers<u64, f64>(desk, op, n, m, count, divisor);
  else if (op === 0 || op === 3) fold<u8, Or, Keep>(desk, n, m, count, nothing());
  else fold<u8, And, Keep>(desk, n, m, count, nothing());
}

/**
 * Divides a block of accumulators at the first address by `divisor`, and narrows the results into `m`
 * outputs of `dtype`.
 */
export function finish(desk: usize, dtype: i32, m: i32, count: i32, divisor: f64): void {
  if (dtype === 0) finishHalves<Float16>(desk, m, count, divisor);
  else if (dtype === 1) finishHalves<Bfloat16>(desk, m, count, divisor);
  else if (dtype === 2 || hasSmallIntegers(dtype)) divideAll<f32>(desk, m, count, divisor);
  else divideAll<f64>(desk, m, count, divisor);
}

/** Widens elements at the first address to accumulators at the second: halves, or the integers of a mean. */
export function widen(desk: usize, dtype: i32, count: i32): void {
  if (dtype === 0) widenHalves<Float16>(desk, count);
  else if (dtype === 1) widenHalves<Bfloat16>(desk, count);
  else if (dtype === 4) widenIntegers<i8, f32>(desk, count);
  else if (dtype === 5) widenIntegers<i16, f32>(desk, count);
  else if (dtype === 6) widenIntegers<i32, f64>(desk, count);
  else if (dtype === 7) widenIntegers<i64, f64>(desk, count);
  else if (dtype === 8) widenIntegers<u8, f32>(desk, count);
  else if (dtype === 9) widenIntegers<u16, f32>(desk, count);
  else if (dtype === 10) widenIntegers<u32, f64>(desk, count);
  else widenIntegers<u64, f64>(desk, count);
}

function combineIntegers<T, Q>(desk: usize, op: i32, n: i32, m: i32, count: i32, divisor: f64): void {
  if (op === 1) meanOfIntegers<T, Q>(desk, n, m, count, <Q>divisor);
  else combineNumbers<T>(desk, op, n, m, count);
}

function combineNumbers<T>(desk: usize, op: i32, n: i32, m: i32, count: i32): void {
  if (op === 2) fold<T, Min, Keep>(desk, n, m, count, nothing());
  else if (op === 3) fold<T, Max, Keep>(desk, n, m, count, nothing());
  else if (op === 4) fold<T, Product, Keep>(desk, n, m, count, nothing());
  else fold<T, Sum, Keep>(desk, n, m, count, nothing());
}

function combineFloats<T>(desk: usize, op: i32, n: i32, m: i32, count: i32, divisor: f64): void {
  if (op !== 1 || divisor === 1) combineNumbers<T>(desk, op, n, m, count);
  else if (isPowerOfTwo(divisor)) fold<T, Sum, Multiply>(desk, n, m, count, v128.splat<T>(<T>(1 / divisor)));
  else fold<T, Sum, Divide>(desk, n, m, count, v128.splat<T>(<T>divisor));
}

function combineHalves<Format>(desk: usize, op: i32, n: i32, m: i32, count: i32, divisor: f64): void {
  if (op === 2) foldHalves<Format, Min, Keep>(desk, n, m, count, nothing());
  else if (op === 3) foldHalves<Format, Max, Keep>(desk, n, m, count, nothing());
  else if (op === 4) foldHalves<Format, Product, Keep>(desk, n, m, count, nothing());
  else if (op === 0) foldHalves<Format, Sum, Keep>(desk, n, m, count, nothing());
  else foldHalves<Format, Sum, Divide>(desk, n, m, count, f32x4.splat(<f32>divisor));
}

function finishHalves<Format>(desk: usize, m: i32, count: i32, divisor: f64): void {
  narrow<Format, Divide>(desk, m, count, f32x4.splat(<f32>divisor));
}

/** Whether a dtype is an integer of at most 16 bits, whose mean is float32. */
function hasSmallIntegers(dtype: i32): bool {
  return dtype === 4 || dtype === 5 || dtype === 8 || dtype === 9;
}

// A power of two has an exact reciprocal. A multiplication takes a quarter of the time of a division.
function isPowerOfTwo(divisor: f64): bool {
  const whole = <i32>divisor;
  return (whole & (whole - 1)) === 0;
}

function nothing(): v128 {
  return i32x4.splat(0);
}
