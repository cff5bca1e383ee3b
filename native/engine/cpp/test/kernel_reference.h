#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../kernels/dtype.h"

// Plain arithmetic, one element at a time: the expected results of the kernels.
namespace coll::reference {

using Bytes = std::vector<std::byte>;

constexpr Op kOps[] = {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kProduct};

std::string name_of(DType dtype);
std::string name_of(Op op);
std::vector<DType> all_dtypes();
bool is_defined(DType dtype, Op op);

double decode_float16(std::uint16_t bits);
double decode_bfloat16(std::uint16_t bits);
std::uint16_t encode_float16(double value);
std::uint16_t encode_bfloat16(double value);

// `count` elements. Many of them are special values: extremes, zeros of both signs, subnormals,
// NaN.
Bytes random_elements(DType dtype, std::size_t count, unsigned seed);

// The first inputs combined from left to right, as elements of result_of(dtype, op).
Bytes fold(DType dtype, Op op, int divisor, const std::vector<Bytes>& inputs, int input_count);

// widen: inputs as accumulators. finish: accumulators as results.
Bytes widen(DType dtype, Op op, const Bytes& elements);
Bytes finish(DType dtype, Op op, int divisor, const Bytes& accumulators);

// The first element at which these are neither the same bits nor both NaN; `count` if there is none.
std::size_t first_difference(DType dtype, const std::byte* actual, const std::byte* expected, std::size_t count);

}  // namespace coll::reference
