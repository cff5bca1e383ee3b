#pragma once

#include <cstddef>

#include "combine_loops.h"
#include "stream_line.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

// Writes each line of results to all outputs before the next one is computed: bursts of lines would
// delay the inputs.
template <class Format, class Op, int kInputs>
[[gnu::flatten]] void stream(void* const* to, int output_count, const void* const* from, std::size_t begin,
                             std::size_t count, int divisor) {
  using Stored = typename Format::Stored;
  constexpr std::size_t kElements = kCacheLine / sizeof(Stored);
  const Stored* inputs[kInputs];
  for (int k = 0; k < kInputs; ++k) inputs[k] = static_cast<const Stored*>(from[k]) + begin;
  with_ending<Op, typename Format::Wide>(divisor, [&](auto last) {
    for (std::size_t at = begin; at < begin + count; at += kElements) {
      alignas(kCacheLine) Stored results[kElements];
      Stored* const outputs[] = {results};
      if constexpr (Format::Lanes::kCount > 0) combine_lanes<Format, Op, kInputs, 1>(outputs, inputs, kElements, last);
      else combine_each<Format, Op, kInputs, 1>(outputs, inputs, 0, kElements, last);
      for (int k = 0; k < output_count; ++k) stream_line(static_cast<Stored*>(to[k]) + at, results);
      for (int k = 0; k < kInputs; ++k) inputs[k] += kElements;
    }
  });
}

}  // namespace
}  // namespace coll
