import { input } from './fold';

/**
 * Writes the mean of `n` integer inputs to `m` outputs: added from left to right, then divided in the float
 * type Q. `desk` is as for `fold`.
 */
export function meanOfIntegers<T, Q>(desk: usize, n: i32, m: i32, count: i32, divisor: Q): void {
  const length = <usize>(<u32>count);
  const by = v128.splat<Q>(divisor);
  let i: usize = 0;
  for (; i + 16 / sizeof<Q>() <= length; i += 16 / sizeof<Q>()) {
    let sum = floatLanes<T>(input(desk, 0) + i * sizeof<T>());
    for (let k = 1; k < n; k++) sum = v128.add<Q>(sum, floatLanes<T>(input(desk, k) + i * sizeof<T>()));
    const quotient = v128.div<Q>(sum, by);
    for (let k = 0; k < m; k++) v128.store(input(desk, n + k) + i * sizeof<Q>(), quotient);
  }
  for (; i < length; i++) {
    let sum = <Q>load<T>(input(desk, 0) + i * sizeof<T>());
    for (let k = 1; k < n; k++) sum += <Q>load<T>(input(desk, k) + i * sizeof<T>());
    const quotient = sum / divisor;
    for (let k = 0; k < m; k++) store<Q>(input(desk, n + k) + i * sizeof<Q>(), quotient);
  }
}

/** Converts the integers at the first address of `desk` to floats at the second. */
export function widenIntegers<T, Q>(desk: usize, count: i32): void {
  const from = input(desk, 0);
  const into = input(desk, 1);
  for (let i: usize = 0; i < <usize>(<u32>count); i++)
    store<Q>(into + i * sizeof<Q>(), <Q>load<T>(from + i * sizeof<T>()));
}

/** A vector of integers converted to floats: float32 for integers of at most 16 bits, otherwise float64. */
function floatLanes<T>(from: usize): v128 {
  if (sizeof<T>() === 8) return f64x2.replace_lane(f64x2.splat(<f64>load<T>(from)), 1, <f64>load<T>(from, 8));
  if (sizeof<T>() === 4) {
    const words = v128.load64_zero(from);
    return isSigned<T>() ? f64x2.convert_low_i32x4_s(words) : f64x2.convert_low_i32x4_u(words);
  }
  const shorts = sizeof<T>() === 1 ? shortLanes<T>(v128.load32_zero(from)) : v128.load64_zero(from);
  return f32x4.convert_i32x4_s(isSigned<T>() ? i32x4.extend_low_i16x8_s(shorts) : i32x4.extend_low_i16x8_u(shorts));
}

function shortLanes<T>(bytes: v128): v128 {
  return isSigned<T>() ? i16x8.extend_low_i8x16_s(bytes) : i16x8.extend_low_i8x16_u(bytes);
}
