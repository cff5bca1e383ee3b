/**
 * Arithmetic on vectors of 16 bytes, with the rules of the JavaScript kernels: integers wrap around, and
 * minima and maxima keep NaN and order -0 below 0.
 *
 * An op is a type, so that the compiler makes a loop for each. The size of the type identifies the op.
 */
export type Sum = i8;
export type Min = i16;
export type Max = i32;
export type Product = i64;
// bool is stored as bytes of 0 and 1.
export type Or = f32;
export type And = f64;

/** `a op b`, lane by lane. */
export function combine<T, Op>(a: v128, b: v128): v128 {
  if (isFloat<Op>()) return sizeof<Op>() === sizeof<Or>() ? or(a, b) : and(a, b);
  if (sizeof<Op>() === sizeof<Sum>()) return v128.add<T>(a, b);
  if (sizeof<Op>() === sizeof<Product>()) return multiply<T>(a, b);
  return sizeof<T>() === 8 && !isFloat<T>() ? pick<T, Op>(a, b) : extreme<T, Op>(a, b);
}

function extreme<T, Op>(a: v128, b: v128): v128 {
  if (sizeof<T>() === 8 && !isFloat<T>()) return a;
  return sizeof<Op>() === sizeof<Min>() ? v128.min<T>(a, b) : v128.max<T>(a, b);
}

// WebAssembly has no minimum of 64-bit integers, and no comparison of unsigned ones. With inverted sign bits they
// compare as signed integers.
function pick<T, Op>(a: v128, b: v128): v128 {
  const bias = isSigned<T>() ? i64x2.splat(0) : i64x2.splat(i64.MIN_VALUE);
  const isAbove = i64x2.gt_s(v128.xor(a, bias), v128.xor(b, bias));
  return sizeof<Op>() === sizeof<Min>() ? v128.bitselect(b, a, isAbove) : v128.bitselect(a, b, isAbove);
}

function multiply<T>(a: v128, b: v128): v128 {
  if (sizeof<T>() > 1) return v128.mul<T>(a, b);
  // WebAssembly has no product of bytes. The lower halves of the widened products contain it.
  const low = i16x8.mul(i16x8.extend_low_i8x16_u(a), i16x8.extend_low_i8x16_u(b));
  const high = i16x8.mul(i16x8.extend_high_i8x16_u(a), i16x8.extend_high_i8x16_u(b));
  return v128.shuffle<u8>(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

function or(a: v128, b: v128): v128 {
  return v128.and(i8x16.ne(v128.or(a, b), i8x16.splat(0)), i8x16.splat(1));
}

function and(a: v128, b: v128): v128 {
  const none = i8x16.splat(0);
  return v128.and(v128.and(i8x16.ne(a, none), i8x16.ne(b, none)), i8x16.splat(1));
}
