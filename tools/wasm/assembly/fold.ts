import { combine } from './vectors';

/**
 * What becomes of a sum: it stays, or it is divided by a number, of which a power of two has an exact reciprocal. Types again,
 * so that loops need not ask.
 */
export type Keep = i8;
export type Multiply = i16;
export type Divide = i32;

/**
 * `desk` holds the addresses of `n` inputs, then those of `m` outputs. Combines the inputs from left to right, and
 * writes the result to all outputs, in one pass over memory. Outputs may be inputs, element for element: a stretch is read from all
 * inputs before it is written.
 */
export function fold<T, Op, Finish>(desk: usize, n: i32, m: i32, count: i32, by: v128): void {
  const bytes = <usize>(<u32>count) * sizeof<T>();
  const whole = bytes & ~63;
  const paired = n === 2 && m === 2 ? foldPair<T, Op, Finish>(desk, whole, by) : 0;
  foldStretches<T, Op, Finish>(desk, n, m, paired, whole, by);
  for (let at = whole; at < bytes; at += sizeof<T>()) {
    let value = v128.load_splat<T>(input(desk, 0) + at);
    for (let k = 1; k < n; k++) value = combine<T, Op>(value, v128.load_splat<T>(input(desk, k) + at));
    value = finished<T, Finish>(value, by);
    for (let k = 0; k < m; k++) v128.store_lane<T>(input(desk, n + k) + at, value, 0);
  }
}

/** Copies `bytes` from the one input to all outputs. */
export function copy(desk: usize, m: i32, bytes: usize): void {
  const from = input(desk, 0);
  const whole = bytes & ~15;
  for (let at: usize = 0; at < whole; at += 16) {
    const value = v128.load(from + at);
    for (let k = 1; k <= m; k++) v128.store(input(desk, k) + at, value);
  }
  for (let at = whole; at < bytes; at++) {
    const value = load<u8>(from + at);
    for (let k = 1; k <= m; k++) store<u8>(input(desk, k) + at, value);
  }
}

/** Address number `k` on the desk. */
export function input(desk: usize, k: i32): usize {
  return load<u32>(desk + ((<usize>k) << 2));
}

const line: usize = 64;
const page: usize = 4096;

// Two ranks: nothing is looked up on the way, and four pages are worked on side by side, two lines of each in turn. Where a page begins its
// address has to be translated, and what the processor fetches ahead begins anew; vectors of 16 bytes let it look too few lines ahead to
// have done both in time. So it waits once for four pages: 64 MiB take four fifths of the time that they take page by page. Two pages save half
// as much; six are slower where the second cache holds all, because lines push each other out of the first; so is one line in turn.
// Returns how many bytes are done: all but a few lines.
function foldPair<T, Op, Finish>(desk: usize, bytes: usize, by: v128): usize {
  const a = input(desk, 0);
  const b = input(desk, 1);
  const p = input(desk, 2);
  const q = input(desk, 3);
  let done: usize = 0;
  while (bytes - done >= 8 * line) {
    const part = min<usize>(page, ((bytes - done) >> 2) & ~(2 * line - 1));
    for (let first = done; first < done + part; first += 2 * line) {
      for (let at = first; at < first + 4 * part; at += part) {
        const v0 = finished<T, Finish>(combine<T, Op>(v128.load(a + at), v128.load(b + at)), by);
        const v1 = finished<T, Finish>(combine<T, Op>(v128.load(a + at, 16), v128.load(b + at, 16)), by);
        const v2 = finished<T, Finish>(combine<T, Op>(v128.load(a + at, 32), v128.load(b + at, 32)), by);
        const v3 = finished<T, Finish>(combine<T, Op>(v128.load(a + at, 48), v128.load(b + at, 48)), by);
        v128.store(p + at, v0);
        v128.store(p + at, v1, 16);
        v128.store(p + at, v2, 32);
        v128.store(p + at, v3, 48);
        v128.store(q + at, v0);
        v128.store(q + at, v1, 16);
        v128.store(q + at, v2, 32);
        v128.store(q + at, v3, 48);
        const v4 = finished<T, Finish>(combine<T, Op>(v128.load(a + at, 64), v128.load(b + at, 64)), by);
        const v5 = finished<T, Finish>(combine<T, Op>(v128.load(a + at, 80), v128.load(b + at, 80)), by);
        const v6 = finished<T, Finish>(combine<T, Op>(v128.load(a + at, 96), v128.load(b + at, 96)), by);
        const v7 = finished<T, Finish>(combine<T, Op>(v128.load(a + at, 112), v128.load(b + at, 112)), by);
        v128.store(p + at, v4, 64);
        v128.store(p + at, v5, 80);
        v128.store(p + at, v6, 96);
        v128.store(p + at, v7, 112);
        v128.store(q + at, v4, 64);
        v128.store(q + at, v5, 80);
        v128.store(q + at, v6, 96);
        v128.store(q + at, v7, 112);
      }
    }
    done += 4 * part;
  }
  return done;
}

// A load whose value nobody waits for brings a line nearer. Without it the stores of the lines before fill the queue, and the next
// misses have to wait: a tenth of the time where buffers are longer than the last-level cache.
const ahead: usize = 512;

// A cache line a turn.
function foldStretches<T, Op, Finish>(desk: usize, n: i32, m: i32, begin: usize, end: usize, by: v128): void {
  for (let at = begin; at < end; at += line) {
    const first = input(desk, 0) + at;
    let v0 = v128.load(first);
    let v1 = v128.load(first, 16);
    let v2 = v128.load(first, 32);
    let v3 = v128.load(first, 48);
    for (let k = 1; k < n; k++) {
      const from = input(desk, k) + at;
      if (at + ahead < end) load<u8>(from + ahead);
      v0 = combine<T, Op>(v0, v128.load(from));
      v1 = combine<T, Op>(v1, v128.load(from, 16));
      v2 = combine<T, Op>(v2, v128.load(from, 32));
      v3 = combine<T, Op>(v3, v128.load(from, 48));
    }
    v0 = finished<T, Finish>(v0, by);
    v1 = finished<T, Finish>(v1, by);
    v2 = finished<T, Finish>(v2, by);
    v3 = finished<T, Finish>(v3, by);
    for (let k = 0; k < m; k++) {
      const into = input(desk, n + k) + at;
      v128.store(into, v0);
      v128.store(into, v1, 16);
      v128.store(into, v2, 32);
      v128.store(into, v3, 48);
    }
  }
}

export function finished<T, Finish>(value: v128, by: v128): v128 {
  if (sizeof<Finish>() === sizeof<Keep>()) return value;
  return sizeof<Finish>() === sizeof<Multiply>() ? v128.mul<T>(value, by) : v128.div<T>(value, by);
}
