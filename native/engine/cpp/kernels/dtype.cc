#include "dtype.h"

namespace coll {
namespace {

constexpr unsigned char kByteSizes[kDTypeCount] = {2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

bool is_floating(DType dtype) { return is_half(dtype) || dtype == DType::kFloat32 || dtype == DType::kFloat64; }

}  // namespace

std::size_t byte_size(DType dtype) { return kByteSizes[static_cast<int>(dtype)]; }

DType accumulator_of(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

DType result_of(DType dtype, Op op) {
  if (op != Op::kMean || is_floating(dtype)) return dtype;
  return byte_size(dtype) <= 2 ? DType::kFloat32 : DType::kFloat64;
}

}  // namespace coll
