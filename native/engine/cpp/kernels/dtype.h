#pragma once

#include <cstddef>
#include <cstdint>

namespace coll {

// Element types, numbered as in the list that @coll/core exports.
enum class DType : std::uint8_t {
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
};
constexpr int kDTypeCount = 13;

// How contributions are combined, numbered as in @coll/core. A mean is a sum, then one true division.
enum class Op : std::uint8_t { kSum, kMean, kMin, kMax, kProduct };
constexpr int kOpCount = 5;

constexpr std::uint8_t kByteSizes[kDTypeCount] = {2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};

constexpr std::size_t byte_size(DType dtype) { return kByteSizes[static_cast<int>(dtype)]; }

constexpr bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

constexpr bool is_floating(DType dtype) { return dtype <= DType::kFloat64; }

// The type of a result: the mean of integers is a float, of float32 up to 16 bits and of float64 above.
constexpr DType result_of(DType dtype, Op op) {
  if (op != Op::kMean || is_floating(dtype)) return dtype;
  return byte_size(dtype) <= 2 ? DType::kFloat32 : DType::kFloat64;
}

// The type in which values are combined: float32 for half types, so that they are rounded once; the
// type of the result for the mean of integers, so that their sum does not wrap around; for all
// others the type itself.
constexpr DType accumulator_of(DType dtype, Op op) { return is_half(dtype) ? DType::kFloat32 : result_of(dtype, op); }

}  // namespace coll
