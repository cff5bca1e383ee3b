import { input } from './fold';

/** True quotients of elements at the first address of the desk, rounded once to Q, to the `m` others. */
export function divideAll<T, Q>(desk: usize, m: i32, count: i32, divisor: f64): void {
  const from = input(desk, 0);
  for (let i: usize = 0; i < <usize>(<u32>count); i++) {
    const quotient = <Q>(<f64>load<T>(from + i * sizeof<T>()) / divisor);
    for (let k = 1; k <= m; k++) store<Q>(input(desk, k) + i * sizeof<Q>(), quotient);
  }
}
