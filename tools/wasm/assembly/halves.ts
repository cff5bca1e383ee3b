/**
 * Conversions between half types and float32. The low half of a vector has four elements, which fill a
 * vector when widened. The formats are types.
 */
export type Float16 = i16;
export type Bfloat16 = u16;

/** Widens four halves in 32-bit lanes to float32. The conversion is exact, and a NaN stays a NaN. */
export function widenLanes<Format>(bits: v128): v128 {
  return isSigned<Format>() ? widenFloat16(bits) : i32x4.shl(bits, 16);
}

/** Rounds four float32 to halves in 32-bit lanes, to nearest even. */
export function narrowLanes<Format>(value: v128): v128 {
  return isSigned<Format>() ? narrowFloat16(value) : narrowBfloat16(value);
}

// An addition changes the bias of the exponent. The significand of a subnormal counts units of 2^-24: with a leading
// 2^-14, which is subtracted again, it becomes a normal number. A product with 2^112 would handle both, but operations
// on subnormals are slow.
function widenFloat16(bits: v128): v128 {
  const sign = i32x4.shl(v128.and(bits, i32x4.splat(0x8000)), 16);
  const magnitude = v128.and(bits, i32x4.splat(0x7fff));
  const shifted = i32x4.shl(magnitude, 13);
  const normal = i32x4.add(shifted, i32x4.splat(0x38000000));
  const leading = i32x4.splat(0x38800000);
  const subnormal = f32x4.sub(i32x4.add(shifted, leading), leading);
  const finite = v128.bitselect(subnormal, normal, i32x4.lt_s(magnitude, i32x4.splat(0x400)));
  const infinite = v128.and(i32x4.gt_s(magnitude, i32x4.splat(0x7bff)), i32x4.splat(0x7f800000));
  const value = v128.or(v128.or(finite, infinite), sign);
  // All NaNs become one NaN, as in the table of the JavaScript kernels.
  const isNone = i32x4.gt_s(magnitude, i32x4.splat(0x7c00));
  return v128.bitselect(i32x4.splat(0x7fc00000), value, isNone);
}

function narrowFloat16(value: v128): v128 {
  const sign = v128.and(i32x4.shr_u(value, 16), i32x4.splat(0x8000));
  const magnitude = v128.and(value, i32x4.splat(0x7fffffff));
  const rebiased = i32x4.sub(magnitude, i32x4.splat(0x38000000));
  const isOdd = v128.and(i32x4.shr_u(rebiased, 13), i32x4.splat(1));
  const normal = i32x4.shr_u(i32x4.add(i32x4.add(rebiased, i32x4.splat(0xfff)), isOdd), 13);
  // The addition of 0.5 moves the units of a subnormal into the last bits of the significand, and rounds them.
  const half = i32x4.splat(0x3f000000);
  const subnormal = i32x4.sub(f32x4.add(magnitude, half), half);
  const isSubnormal = i32x4.lt_s(magnitude, i32x4.splat(0x38800000));
  const isHuge = i32x4.gt_s(magnitude, i32x4.splat(0x477fffff));
  const isNone = i32x4.gt_s(magnitude, i32x4.splat(0x7f800000));
  const payload = v128.and(i32x4.shr_u(magnitude, 13), i32x4.splat(0x1ff));
  const special = v128.or(i32x4.splat(0x7c00), v128.and(v128.or(payload, i32x4.splat(0x200)), isNone));
  const finite = v128.bitselect(subnormal, normal, isSubnormal);
  return v128.or(v128.bitselect(special, finite, isHuge), sign);
}

function narrowBfloat16(value: v128): v128 {
  const isOdd = v128.and(i32x4.shr_u(value, 16), i32x4.splat(1));
  const rounded = i32x4.shr_u(i32x4.add(i32x4.add(value, i32x4.splat(0x7fff)), isOdd), 16);
  const isNone = i32x4.gt_s(v128.and(value, i32x4.splat(0x7fffffff)), i32x4.splat(0x7f800000));
  return v128.bitselect(v128.or(i32x4.shr_u(value, 16), i32x4.splat(0x40)), rounded, isNone);
}
