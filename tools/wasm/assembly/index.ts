import { divideAll } from './divide';
import { divide, fold, keep, multiply } from './fold';
import { foldHalves, narrow as narrowHalves, widen as widenHalves } from './fold-halves';
import { Bfloat16, Float16 } from './halves';
import { And, Max, Min, Or, Product, Sum } from './vectors';

export { copy } from './fold';

/**
 * The arithmetic of @coll/core on a shared memory. Dtypes and ops are numbers, as in the lists of @coll/core. `desk` is the
 * address of a list of addresses, 32 bits each: of the inputs, then of the outputs.
 */

/** Combines `n` inputs from left to right into `m` outputs. Floats are divided by `divisor` at the end, unless it is 1. */
export function combine(desk: usize, dtype: i32, op: i32, n: i32, m: i32, count: i32, divisor: f64): void {
  const finish = finishOf(divisor);
  const by = f32x4.splat(<f32>(finish == multiply ? 1 / divisor : divisor));
  switch (dtype) {
    case 0:
      return combineHalves<Float16>(desk, op, n, m, count, finish, by);
    case 1:
      return combineHalves<Bfloat16>(desk, op, n, m, count, finish, by);
    case 2:
      return combineNumbers<f32>(desk, op, n, m, count, finish, by);
    case 3:
      return combineNumbers<f64>(desk, op, n, m, count, finish, f64x2.splat(finish == multiply ? 1 / divisor : divisor));
    case 4:
      return combineNumbers<i8>(desk, op, n, m, count, keep, by);
    case 5:
      return combineNumbers<i16>(desk, op, n, m, count, keep, by);
    case 6:
      return combineNumbers<i32>(desk, op, n, m, count, keep, by);
    case 7:
      return combineNumbers<i64>(desk, op, n, m, count, keep, by);
    case 8:
      return combineNumbers<u8>(desk, op, n, m, count, keep, by);
    case 9:
      return combineNumbers<u16>(desk, op, n, m, count, keep, by);
    case 10:
      return combineNumbers<u32>(desk, op, n, m, count, keep, by);
    case 11:
      return combineNumbers<u64>(desk, op, n, m, count, keep, by);
    case 12:
      return op == 0 || op == 3
        ? fold<u8, Or>(desk, n, m, count, keep, by)
        : fold<u8, And>(desk, n, m, count, keep, by);
    default:
      unreachable();
  }
}

/** A block of accumulators, at the first address, divided (unless `divisor` is 1) and narrowed into `m` outputs of `dtype`'s quotients. */
export function finish(desk: usize, dtype: i32, m: i32, count: i32, divisor: f64): void {
  const how = finishOf(divisor);
  const by = f32x4.splat(<f32>(how == multiply ? 1 / divisor : divisor));
  switch (dtype) {
    case 0:
      return narrowHalves<Float16>(desk, m, count, how, by);
    case 1:
      return narrowHalves<Bfloat16>(desk, m, count, how, by);
    case 2:
      return divideAll<f32, f32>(desk, m, count, divisor);
    case 3:
      return divideAll<f64, f64>(desk, m, count, divisor);
    case 4:
      return divideAll<i8, f32>(desk, m, count, divisor);
    case 5:
      return divideAll<i16, f32>(desk, m, count, divisor);
    case 6:
      return divideAll<i32, f64>(desk, m, count, divisor);
    case 7:
      return divideAll<i64, f64>(desk, m, count, divisor);
    case 8:
      return divideAll<u8, f32>(desk, m, count, divisor);
    case 9:
      return divideAll<u16, f32>(desk, m, count, divisor);
    case 10:
      return divideAll<u32, f64>(desk, m, count, divisor);
    case 11:
      return divideAll<u64, f64>(desk, m, count, divisor);
    default:
      unreachable();
  }
}

/** Halves at the first address as float32 at the second. */
export function widen(desk: usize, dtype: i32, count: i32): void {
  if (dtype == 0) widenHalves<Float16>(desk, count);
  else widenHalves<Bfloat16>(desk, count);
}

function combineNumbers<T>(desk: usize, op: i32, n: i32, m: i32, count: i32, finish: i32, by: v128): void {
  switch (op) {
    case 2:
      return fold<T, Min>(desk, n, m, count, finish, by);
    case 3:
      return fold<T, Max>(desk, n, m, count, finish, by);
    case 4:
      return fold<T, Product>(desk, n, m, count, finish, by);
    default:
      return fold<T, Sum>(desk, n, m, count, finish, by);
  }
}

function combineHalves<Format>(desk: usize, op: i32, n: i32, m: i32, count: i32, finish: i32, by: v128): void {
  switch (op) {
    case 2:
      return foldHalves<Format, Min>(desk, n, m, count, finish, by);
    case 3:
      return foldHalves<Format, Max>(desk, n, m, count, finish, by);
    case 4:
      return foldHalves<Format, Product>(desk, n, m, count, finish, by);
    default:
      return foldHalves<Format, Sum>(desk, n, m, count, finish, by);
  }
}

// A power of two has an exact reciprocal, and a product takes a quarter of a quotient's time.
function finishOf(divisor: f64): i32 {
  if (divisor == 1) return keep;
  const whole = <i32>divisor;
  return (whole & (whole - 1)) == 0 ? multiply : divide;
}
