#pragma once

#include <cstdint>
#include <cstring>

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

inline std::uint32_t bits_of(float value) { return bits_as<std::uint32_t>(value); }
inline std::uint64_t bits_of(double value) { return bits_as<std::uint64_t>(value); }

// Selects one of two values without a branch, which would keep the loop from being vectorized.
inline std::uint32_t choose(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

inline float float16_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  // Subnormal halves are multiples of 2^-24: the bits of the fraction are that multiple.
  const std::uint32_t subnormal = bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  const std::uint32_t rebias = choose(magnitude < 0x7c00u, 112u << 23, 224u << 23);
  const std::uint32_t normal = (magnitude << 13) + rebias;
  return bits_as<float>(sign | choose(magnitude < 0x0400u, subnormal, normal));
}

inline std::uint16_t float_to_float16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Adding 0.5 leaves as many bits of the fraction as a subnormal has, so the addition rounds.
  const std::uint32_t subnormal = bits_of(bits_as<float>(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const std::uint32_t infinite_or_nan = choose(magnitude > 0x7f800000u, 0x7e00u, 0x7c00u);
  const std::uint32_t finite = choose(magnitude < 0x38800000u, subnormal, normal);
  return static_cast<std::uint16_t>(sign | choose(magnitude < 0x47800000u, finite, infinite_or_nan));
}

inline float bfloat16_to_float(std::uint16_t half) { return bits_as<float>(static_cast<std::uint32_t>(half) << 16); }

inline std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = bits_of(value);
  // A NaN keeps its upper bits and becomes quiet. Rounding could turn it into infinity.
  const std::uint32_t nan = bits | 0x400000u;
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>(choose((bits & 0x7fffffffu) > 0x7f800000u, nan, rounded) >> 16);
}

}  // namespace
}  // namespace coll
