import { input } from './fold';

/** Quotients of floats at the first address of the desk, to the `m` others. */
export function divideAll<T>(desk: usize, m: i32, count: i32, divisor: f64): void {
  const from = input(desk, 0);
  for (let i: usize = 0; i < <usize>(<u32>count); i++) {
    const quotient = <T>(<f64>load<T>(from + i * sizeof<T>()) / divisor);
    for (let k = 1; k <= m; k++) store<T>(input(desk, k) + i * sizeof<T>(), quotient);
  }
}
