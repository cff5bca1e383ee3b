#pragma once

#include <cstddef>

#include "dtype.h"

namespace coll {

// How results are written. Streaming bypasses the caches, which saves reading what will be
// overwritten. It pays for outputs that are not inputs and are too large to stay in a cache.
enum class Write { kCached, kStreamed };

// The inputs, combined from left to right in this order, and the outputs, each of which gets a copy
// of the result.
struct Fold {
  DType dtype;
  Op op;
  int divisor;  // for a mean: from 1, and below 2^24
  const void* const* inputs;
  int input_count;  // from 1
  void* const* outputs;
  int output_count;  // from 1
  Write write = Write::kCached;
  // Whether long inputs are prefetched.
  bool asks_ahead = false;
};

// outputs[k][i] = inputs[0][i] op inputs[1][i] op ..., for all k and the `count` elements from `begin`.
// Inputs are of `dtype`, outputs of `result_of(dtype, op)`. Values are combined in `accumulator_of(dtype, op)`
// and rounded once. An output
// may be one of the inputs, at the same address, if their elements have one size; otherwise nothing overlaps. Addresses
// need no more alignment than an element. Throws Error for the mean of bools.
void fold(const Fold& fold, std::size_t begin, std::size_t count);

// The parts of a fold, for schedules that are executed round by round on accumulators.
// into[i] = from[i], converted to `accumulator_of(dtype, op)`.
void widen(DType dtype, Op op, void* into, const void* from, std::size_t count);
// into[i] = the result for the accumulator from[i]: divided for a mean, and rounded for half types.
void finish(DType dtype, Op op, int divisor, void* into, const void* from, std::size_t count);
// Copies `bytes` bytes without arithmetic.
void copy(void* into, const void* from, std::size_t bytes, Write write = Write::kCached);

// The instruction set in use: "scalar", "avx2", "avx512" or "neon". COLL_NATIVE_SIMD selects
// another one that this processor has. If the processor lacks it, this function and the others
// throw Error.
const char* simd_name();

}  // namespace coll
