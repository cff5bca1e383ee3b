#pragma once

#include <cstddef>
#include <type_traits>

#include "arithmetic.h"
#include "kernels.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

template <class Format, class Op, int kInputs>
inline typename Format::Wide combined(const typename Format::Stored* const* inputs, std::size_t i) {
  const auto last = Format::widen(inputs[kInputs - 1][i]);
  if constexpr (kInputs == 1) return last;
  else return Op::combine(combined<Format, Op, kInputs - 1>(inputs, i), last);
}

// An output that is an input is written only after that element was read, which is why no iteration depends on another.
template <class Format, class Op, int kInputs, int kOutputs, class Last>
inline void combine_all(void* const* to, const void* const* from, std::size_t count, Last last) {
  using Stored = typename Format::Stored;
  const Stored* inputs[kInputs];
  for (int k = 0; k < kInputs; ++k) inputs[k] = static_cast<const Stored*>(from[k]);
  Stored* const first = static_cast<Stored*>(to[0]);
  Stored* const second = static_cast<Stored*>(to[kOutputs - 1]);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const Stored result = Format::narrow(last(combined<Format, Op, kInputs>(inputs, i)));
    first[i] = result;
    if constexpr (kOutputs == 2) second[i] = result;
  }
}

// `run` with the way to divide that takes least time. Ranks are few enough for any float to hold their number.
template <class T, class Run>
inline void with_quotient(int divisor, Run run) {
  const T number = static_cast<T>(divisor);
  if ((divisor & (divisor - 1)) == 0) run(Scale<T>{1 / number});
  else run(Divide<T>{number});
}

template <class Format, class Op, int kInputs, int kOutputs>
void combine(void* const* outputs, const void* const* inputs, std::size_t count, int divisor) {
  const auto run = [=](auto last) { combine_all<Format, Op, kInputs, kOutputs>(outputs, inputs, count, last); };
  if constexpr (std::is_same<Op, Mean>::value) with_quotient<typename Format::Wide>(divisor, run);
  else run(Keep());
}

// into[i] = Into::narrow(last(From::widen(from[i])))
template <class Into, class From, class Last>
inline void convert_all(void* into, const void* from, std::size_t count, Last last) {
  auto* const to = static_cast<typename Into::Stored*>(into);
  const auto* const values = static_cast<const typename From::Stored*>(from);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) to[i] = Into::narrow(last(From::widen(values[i])));
}

template <class Into, class From>
void convert(void* into, const void* from, std::size_t count, int) {
  convert_all<Into, From>(into, from, count, Keep());
}

template <class Into, class From>
void divide(void* into, const void* from, std::size_t count, int divisor) {
  with_quotient<typename Into::Wide>(divisor, [=](auto last) { convert_all<Into, From>(into, from, count, last); });
}

}  // namespace
}  // namespace coll
