#pragma once

#include <cstddef>

#include "combine_loops.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

// Converts the elements that fill whole vector registers, and returns their number.
template <class Into, class From, class Last>
inline std::size_t convert_lanes(typename Into::Stored* into, const typename From::Stored* from, std::size_t count,
                                 Last last) {
  constexpr bool kWidens = From::Lanes::kCount > 0;
  constexpr int kLanes = kWidens ? From::Lanes::kCount : Into::Lanes::kCount;
  std::size_t done = 0;
  for (; count - done >= kLanes; done += kLanes) {
    if constexpr (kWidens) {
      From::Lanes::widen(into + done, from + done);
    } else {
      typename Into::Wide values[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) values[i] = last(from[done + i]);
      Into::Lanes::narrow(into + done, values);
    }
  }
  return done;
}

// into[i] = from[i] in another type, divided on the way if `last` does so.
template <class Into, class From, class Last>
inline void convert_all(void* to, const void* values, std::size_t count, Last last) {
  auto* const into = static_cast<typename Into::Stored*>(to);
  const auto* const from = static_cast<const typename From::Stored*>(values);
  std::size_t done = 0;
  if constexpr (Into::Lanes::kCount + From::Lanes::kCount > 0) {
    done = convert_lanes<Into, From>(into, from, count, last);
  }
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t i = done; i < count; ++i) into[i] = Into::narrow(last(From::widen(from[i])));
}

template <class Into, class From>
[[gnu::flatten]] void convert(void* into, const void* from, std::size_t count, int) {
  convert_all<Into, From>(into, from, count, Keep());
}

template <class Into, class From>
[[gnu::flatten]] void divide(void* into, const void* from, std::size_t count, int divisor) {
  with_division<typename Into::Wide>(divisor, [&](auto last) { convert_all<Into, From>(into, from, count, last); });
}

}  // namespace
}  // namespace coll
