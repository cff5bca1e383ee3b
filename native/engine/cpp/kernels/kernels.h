#pragma once

#include <cstddef>

#include "dtype.h"

namespace coll {

// Inputs that a loop combines at most; more take several passes.
constexpr int kMostInputs = 8;
// Outputs that a loop writes by itself; further ones are copies.
constexpr int kMostOutputs = 2;

// outputs[k][i] = inputs[0][i] op inputs[1][i] op ... for `count` elements. An output is one of the inputs or overlaps
// none.
using Combine = void (*)(void* const* outputs, const void* const* inputs, std::size_t count, int divisor);

// Long loops go through so many bytes at a time.
constexpr std::size_t kRunBytes = 128;

// The same to any number of outputs, for elements from `begin` that are whole runs, and longer than a first-level cache if they are asked
// for ahead of their use.
using CombineLong = void (*)(void* const* outputs, int output_count, const void* const* inputs, std::size_t begin,
                             std::size_t count, int divisor, bool asks_ahead);

// The same past the caches, for elements from `begin` that are whole cache lines of outputs, none of which is an input.
using Stream = void (*)(void* const* outputs, int output_count, const void* const* inputs, std::size_t begin,
                        std::size_t count, int divisor);

// into[i] = from[i] in another type. The ranges do not overlap, or are the same and their elements of one size.
using Convert = void (*)(void* into, const void* from, std::size_t count, int divisor);

// One op on one dtype, by the number of inputs, from 2 to `most_inputs`, and of outputs, from 1.
struct Combiner {
  int most_inputs;
  Combine loops[kMostInputs - 1][kMostOutputs];
  Stream streams[kMostInputs - 1];
  CombineLong long_loops[kMostInputs - 1];

  constexpr Combine loop(int inputs, int outputs) const { return loops[inputs - 2][outputs - 1]; }
  // Null where only blocks are streamed.
  constexpr Stream stream(int inputs) const { return streams[inputs - 2]; }
  // Null where there is none.
  constexpr CombineLong long_loop(int inputs) const { return long_loops[inputs - 2]; }
};

// All loops, compiled for one instruction set. What has no entry goes another way: means of integers are sums that are
// divided later, and what is no half type is its own accumulator.
struct Kernels {
  const char* name;
  const Combiner* combiners[kDTypeCount][kOpCount];
  Convert widen[kDTypeCount];
  Convert narrow[kDTypeCount];
  // From accumulators to the results of a mean.
  Convert divide[kDTypeCount];
};

// What this compiler could build; undefined instruction sets are null.
const Kernels* baseline_kernels();
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();

}  // namespace coll
