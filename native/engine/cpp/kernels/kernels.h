#pragma once

#include <cstddef>

#include "dtype.h"

namespace coll {

// The most inputs of a loop; more take several passes.
constexpr int kMostInputs = 8;
// The most outputs that a loop writes; further ones are copied.
constexpr int kMostOutputs = 2;

// outputs[k][i] = inputs[0][i] op inputs[1][i] op ... for `count` elements. An output is one of the inputs or overlaps
// none.
using Combine = void (*)(void* const* outputs, const void* const* inputs, std::size_t count, int divisor);

// Long loops process this many bytes at a time. Compilers unroll loops of up to 16 elements before
// they vectorize, and then do not vectorize them.
constexpr std::size_t kRunBytes = 256;

// Like Combine, for any number of outputs. The elements from `begin` must fill whole runs. If they
// are prefetched, they must exceed a first-level cache.
using CombineLong = void (*)(void* const* outputs, int output_count, const void* const* inputs, std::size_t begin,
                             std::size_t count, int divisor, bool asks_ahead);

// Like CombineLong, but writes results past the caches. The elements from `begin` must fill whole
// cache lines of the outputs, and no output may be an input.
using Stream = void (*)(void* const* outputs, int output_count, const void* const* inputs, std::size_t begin,
                        std::size_t count, int divisor);

// into[i] = from[i] in another type. The ranges must not overlap, or be the same with elements of
// equal size.
using Convert = void (*)(void* into, const void* from, std::size_t count, int divisor);

// One op on one dtype: a loop for each number of inputs, from 2 to `most_inputs`, and of outputs,
// from 1.
struct Combiner {
  int most_inputs;
  Combine loops[kMostInputs - 1][kMostOutputs];
  Stream streams[kMostInputs - 1];
  CombineLong long_loops[kMostInputs - 1];

  constexpr Combine loop(int inputs, int outputs) const { return loops[inputs - 2][outputs - 1]; }
  // The loop that writes past the caches; null if only folds in blocks do so.
  constexpr Stream stream(int inputs) const { return streams[inputs - 2]; }
  // The loop for long buffers; null if there is none.
  constexpr CombineLong long_loop(int inputs) const { return long_loops[inputs - 2]; }
};

// All loops, compiled for one instruction set. Some entries are null, because other loops do the
// work: means of integers are converted and combined as floats, and the other values need no
// conversion.
struct Kernels {
  const char* name;
  const Combiner* combiners[kDTypeCount][kOpCount];
  // Converts elements to accumulators: half types, and integers for a mean.
  Convert widen[kDTypeCount];
  // Converts accumulators to half types.
  Convert narrow[kDTypeCount];
  // Converts accumulators to the results of a mean.
  Convert divide[kDTypeCount];
};

// The kernels that this compiler could build; null for other instruction sets.
const Kernels* baseline_kernels();
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();

}  // namespace coll
