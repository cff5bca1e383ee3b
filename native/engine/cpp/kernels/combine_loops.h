#pragma once

#include <cstddef>
#include <type_traits>

#include "arithmetic.h"
#include "formats.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

template <class Format, class Op, int kInputs>
inline typename Format::Wide combined(const typename Format::Stored* const* inputs, std::size_t i) {
  const auto last = Format::widen(inputs[kInputs - 1][i]);
  if constexpr (kInputs == 1) return last;
  else return Op::combine(combined<Format, Op, kInputs - 1>(inputs, i), last);
}

// Combines the elements that fill whole vector registers, and returns their number. The small
// arrays are kept in registers.
template <class Format, class Op, int kInputs, int kOutputs, class Last>
inline std::size_t combine_lanes(typename Format::Stored* const* outputs, const typename Format::Stored* const* inputs,
                                 std::size_t count, Last last) {
  using Wide = typename Format::Wide;
  constexpr int kLanes = Format::Lanes::kCount;
  std::size_t done = 0;
  for (; count - done >= kLanes; done += kLanes) {
    Wide values[kInputs][kLanes];
    const Wide* operands[kInputs];
    for (int k = 0; k < kInputs; ++k) {
      Format::Lanes::widen(values[k], inputs[k] + done);
      operands[k] = values[k];
    }
    Wide results[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) results[i] = last(combined<Plain<Wide>, Op, kInputs>(operands, i));
    for (int k = 0; k < kOutputs; ++k) Format::Lanes::narrow(outputs[k] + done, results);
  }
  return done;
}

// Each iteration writes an output after it has read its inputs, and reads nothing that another
// iteration writes, even if an output is also an input.
template <class Format, class Op, int kInputs, int kOutputs, class Last>
inline void combine_each(typename Format::Stored* const* outputs, const typename Format::Stored* const* inputs,
                         std::size_t begin, std::size_t end, Last last) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t i = begin; i < end; ++i) {
    const auto result = Format::narrow(last(combined<Format, Op, kInputs>(inputs, i)));
    outputs[0][i] = result;
    if constexpr (kOutputs == 2) outputs[1][i] = result;
  }
}

// Calls `run` with the fastest way to divide by `divisor`. Every float format can represent the
// number of ranks.
template <class T, class Run>
inline void with_division(int divisor, Run run) {
  const T number = static_cast<T>(divisor);
  if ((divisor & (divisor - 1)) == 0) run(Scale<T>{1 / number});
  else run(Divide<T>{number});
}

template <class Op, class T, class Run>
inline void with_ending(int divisor, Run run) {
  if constexpr (std::is_same<Op, Mean>::value) with_division<T>(divisor, run);
  else run(Keep());
}

// Flattened, like the other loops: in such large files compilers stop inlining, and a loop with a
// call cannot be vectorized.
template <class Format, class Op, int kInputs, int kOutputs>
[[gnu::flatten]] void combine(void* const* to, const void* const* from, std::size_t count, int divisor) {
  using Stored = typename Format::Stored;
  Stored* const outputs[] = {static_cast<Stored*>(to[0]), static_cast<Stored*>(to[kOutputs - 1])};
  const Stored* inputs[kInputs];
  for (int k = 0; k < kInputs; ++k) inputs[k] = static_cast<const Stored*>(from[k]);
  with_ending<Op, typename Format::Wide>(divisor, [&](auto last) {
    std::size_t done = 0;
    if constexpr (Format::Lanes::kCount > 0) {
      done = combine_lanes<Format, Op, kInputs, kOutputs>(outputs, inputs, count, last);
    }
    combine_each<Format, Op, kInputs, kOutputs>(outputs, inputs, done, count, last);
  });
}

}  // namespace
}  // namespace coll
