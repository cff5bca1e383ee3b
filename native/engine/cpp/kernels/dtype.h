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

std::size_t byte_size(DType dtype);

// The type in which sums are carried: half types in float32, so that they round once; all others in themselves.
DType accumulator_of(DType dtype);

// The type of a result: the mean of integers is a float, of float32 up to 16 bits and of float64 above.
DType result_of(DType dtype, Op op);

}  // namespace coll
