#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "../tuning.h"
#include "combine_loops.h"
#include "stream_line.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

inline void ask_for(const void* line) {
#if defined(__GNUC__)
  __builtin_prefetch(line);
#else
  static_cast<void>(line);
#endif
}

// Writes each run of results to all outputs while the inputs are in registers. All runs are in one
// loop: between calls, no memory access would be in progress.
template <class Format, class Op, int kInputs>
[[gnu::flatten]] void combine_long(void* const* to, int output_count, const void* const* from, std::size_t begin,
                                   std::size_t count, int divisor, bool asks_ahead) {
  using Stored = typename Format::Stored;
  constexpr std::size_t kElements = kRunBytes / sizeof(Stored);
  constexpr std::size_t kLineElements = kCacheLine / sizeof(Stored);
  const Stored* inputs[kInputs];
  for (int k = 0; k < kInputs; ++k) inputs[k] = static_cast<const Stored*>(from[k]) + begin;
  Stored* const first = static_cast<Stored*>(to[0]) + begin;
  // A single output is written twice, which saves a branch.
  Stored* const second = static_cast<Stored*>(to[output_count > 1 ? 1 : 0]) + begin;
  with_ending<Op, typename Format::Wide>(divisor, [&](auto last) {
    for (std::size_t at = 0; at < count; at += kElements) {
      const Stored* operands[kInputs];
      for (int k = 0; k < kInputs; ++k) operands[k] = inputs[k] + at;
      if (asks_ahead) {
        // Prefetches nothing beyond the end: that memory belongs to another rank, which may be
        // writing it.
        const std::size_t ahead = std::min(at + tuning::kAheadBytes / sizeof(Stored), count - kElements);
        for (std::size_t line = ahead; line < ahead + kElements; line += kLineElements) {
          for (int k = 0; k < kInputs; ++k) ask_for(inputs[k] + line);
        }
      }
      Stored* const outputs[] = {first + at, second + at};
      combine_each<Format, Op, kInputs, 2>(outputs, operands, 0, kElements, last);
      for (int k = 2; k < output_count; ++k) std::memcpy(static_cast<Stored*>(to[k]) + begin + at, first + at, kRunBytes);
    }
  });
}

}  // namespace
}  // namespace coll
