import { input } from './fold';

/**
 * Divides the floats at the first address by `divisor`, and writes the quotients to the `m` other addresses
 * of `desk`.
 */
export function divideAll<T>(desk: usize, m: i32, count: i32, divisor: f64): void {
  const from = input(desk, 0);
  for (let i: usize = 0; i < <usize>(<u32>count); i++) {
    const quotient = <T>(<f64>load<T>(from + i * sizeof<T>()) / divisor);
    for (let k = 1; k <= m; k++) store<T>(input(desk, k) + i * sizeof<T>(), quotient);
  }
}
