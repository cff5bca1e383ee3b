#pragma once

#include <type_traits>

#include "combine_loops.h"
#include "kernels.h"
#include "long_loops.h"
#include "stream_loops.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

template <class Format, class Op, int kInputs>
constexpr void add_loops(Combiner& combiner) {
  if constexpr (kInputs >= 2) {
    combiner.loops[kInputs - 2][0] = combine<Format, Op, kInputs, 1>;
    combiner.loops[kInputs - 2][1] = combine<Format, Op, kInputs, 2>;
    add_loops<Format, Op, kInputs - 1>(combiner);
  }
}

template <class Format, class Op, int kInputs>
constexpr void add_streams(Combiner& combiner) {
  if constexpr (kInputs >= 2) {
    combiner.streams[kInputs - 2] = stream<Format, Op, kInputs>;
    add_streams<Format, Op, kInputs - 1>(combiner);
  }
}

template <class Format, class Op, int kInputs>
constexpr void add_long_loops(Combiner& combiner) {
  if constexpr (kInputs >= 2) {
    combiner.long_loops[kInputs - 2] = combine_long<Format, Op, kInputs>;
    add_long_loops<Format, Op, kInputs - 1>(combiner);
  }
}

template <class Format, class Op>
constexpr Combiner make_rare() {
  Combiner combiner{};
  combiner.most_inputs = kMostInputs / 2;
  add_loops<Format, Op, kMostInputs / 2>(combiner);
  return combiner;
}

template <class Format, class Op>
constexpr Combiner make_common() {
  Combiner combiner{};
  combiner.most_inputs = kMostInputs;
  add_loops<Format, Op, kMostInputs>(combiner);
  add_streams<Format, Op, kMostInputs>(combiner);
  // For half types, conversion takes longer than memory access.
  constexpr bool kConverts = !std::is_same<typename Format::Stored, typename Format::Wide>::value;
  if constexpr (!kConverts) add_long_loops<Format, Op, kMostInputs>(combiner);
  return combiner;
}

// Sums and means of floats, the usual operations on gradients, have loops for many inputs. Rarer
// operations have fewer loops, a third of the code: with eight inputs they take a third longer in
// the cache, and as long as the others in memory.
template <class Format, class Op>
constexpr Combiner kRare = make_rare<Format, Op>();
template <class Format, class Op>
constexpr Combiner kCommon = make_common<Format, Op>();

}  // namespace
}  // namespace coll
