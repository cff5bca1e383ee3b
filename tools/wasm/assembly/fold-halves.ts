import { finished, input } from './fold';
import { narrowLanes, widenLanes } from './halves';
import { combine } from './vectors';

/**
 * Like `fold` for a half type: each element is widened to float32 when it is read, and the result is
 * rounded once at the end.
 */
export function foldHalves<Format, Op, Finish>(desk: usize, n: i32, m: i32, count: i32, by: v128): void {
  const bytes = (<usize>(<u32>count)) << 1;
  const whole = bytes & ~15;
  for (let at: usize = 0; at < whole; at += 16) {
    let bits = v128.load(input(desk, 0) + at);
    let low = widenLanes<Format>(i32x4.extend_low_i16x8_u(bits));
    let high = widenLanes<Format>(i32x4.extend_high_i16x8_u(bits));
    for (let k = 1; k < n; k++) {
      bits = v128.load(input(desk, k) + at);
      low = combine<f32, Op>(low, widenLanes<Format>(i32x4.extend_low_i16x8_u(bits)));
      high = combine<f32, Op>(high, widenLanes<Format>(i32x4.extend_high_i16x8_u(bits)));
    }
    const result = narrowed<Format, Finish>(low, high, by);
    for (let k = 0; k < m; k++) v128.store(input(desk, n + k) + at, result);
  }
  for (let at = whole; at < bytes; at += 2) {
    let value = widenOne<Format>(input(desk, 0) + at);
    for (let k = 1; k < n; k++) value = combine<f32, Op>(value, widenOne<Format>(input(desk, k) + at));
    const result = narrowed<Format, Finish>(value, value, by);
    for (let k = 0; k < m; k++) v128.store_lane<u16>(input(desk, n + k) + at, result, 0);
  }
}

/** Widens the halves at the first address of `desk` to float32 at the second address. */
export function widen<Format>(desk: usize, count: i32): void {
  const from = input(desk, 0);
  const into = input(desk, 1);
  for (let i: usize = 0; i < <usize>(<u32>count); i++) {
    v128.store_lane<u32>(into + (i << 2), widenOne<Format>(from + (i << 1)), 0);
  }
}

/** Narrows the float32 at the first address of `desk` to halves at the `m` other addresses. */
export function narrow<Format, Finish>(desk: usize, m: i32, count: i32, by: v128): void {
  const from = input(desk, 0);
  for (let i: usize = 0; i < <usize>(<u32>count); i++) {
    const value = v128.load_splat<u32>(from + (i << 2));
    const result = narrowed<Format, Finish>(value, value, by);
    for (let k = 1; k <= m; k++) v128.store_lane<u16>(input(desk, k) + (i << 1), result, 0);
  }
}

function widenOne<Format>(from: usize): v128 {
  return widenLanes<Format>(i32x4.extend_low_i16x8_u(v128.load_splat<u16>(from)));
}

// A saturating conversion would turn negative halves, whose bits exceed 0x7fff, into zero. This selects lanes instead.
function narrowed<Format, Finish>(low: v128, high: v128, by: v128): v128 {
  const a = narrowLanes<Format>(finished<f32, Finish>(low, by));
  const b = narrowLanes<Format>(finished<f32, Finish>(high, by));
  return v128.shuffle<u16>(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
}
