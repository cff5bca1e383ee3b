#pragma once
// Half types by integer arithmetic: the same bits on every GPU and on a CPU, which runs the tests.
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define COLL_DEVICE __device__ __forceinline__
#else
#define COLL_DEVICE inline
#endif

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

COLL_DEVICE uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

COLL_DEVICE float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Also of a zero.
template <class T>
COLL_DEVICE bool has_sign(T value) {
  return value < 0;
}
template <>
COLL_DEVICE bool has_sign(float value) {
  return bits_of(value) >> 31 != 0;
}
template <>
COLL_DEVICE bool has_sign(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 != 0;
}

COLL_DEVICE float widened(Float16 half) {
  const uint32_t sign = (half.bits & 0x8000u) << 16;
  const uint32_t exponent = (half.bits >> 10) & 0x1fu;
  const uint32_t fraction = half.bits & 0x3ffu;
  if (exponent == 0x1fu) return float_of(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return float_of(sign | ((exponent + 112) << 23) | (fraction << 13));
  // Subnormal: fraction * 2^-24, which float32 holds exactly.
  return float_of(bits_of(static_cast<float>(fraction) * 5.9604644775390625e-8f) | sign);
}

COLL_DEVICE float widened(BFloat16 half) { return float_of(static_cast<uint32_t>(half.bits) << 16); }

// To the nearest, ties to even; what is too large becomes infinite, and NaN stays NaN.
COLL_DEVICE Float16 narrowed_to(Float16, float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {
    const uint32_t shifted = magnitude - 0x38000000u;
    half = (shifted + 0xfffu + ((shifted >> 13) & 1u)) >> 13;
  } else if (magnitude < 0x33000000u) {
    half = 0;
  } else {
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t rest = fraction & ((1u << shift) - 1u);
    const uint32_t middle = 1u << (shift - 1u);
    half = fraction >> shift;
    if (rest > middle || (rest == middle && (half & 1u) != 0)) ++half;
  }
  return Float16{static_cast<uint16_t>(sign | half)};
}

COLL_DEVICE BFloat16 narrowed_to(BFloat16, float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return BFloat16{static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return BFloat16{static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// All other types are carried as they are.
template <class T>
COLL_DEVICE T widened(T value) {
  return value;
}
template <class T>
COLL_DEVICE T narrowed_to(T, T value) {
  return value;
}
