#include "stream.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coll {

#if defined(__SSE2__)

namespace {

constexpr std::size_t kLine = 64;

// Whole cache lines: what fills only a part of one costs a read of the rest.
void stream_lines(std::byte* into, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLine) {
    auto* const to = reinterpret_cast<__m128i*>(into + at);
    const auto* const values = reinterpret_cast<const __m128i*>(from + at);
    const __m128i first = _mm_loadu_si128(values);
    const __m128i second = _mm_loadu_si128(values + 1);
    const __m128i third = _mm_loadu_si128(values + 2);
    const __m128i fourth = _mm_loadu_si128(values + 3);
    _mm_stream_si128(to, first);
    _mm_stream_si128(to + 1, second);
    _mm_stream_si128(to + 2, third);
    _mm_stream_si128(to + 3, fourth);
  }
}

}  // namespace

void stream(void* into, const void* from, std::size_t bytes) {
  auto* const to = static_cast<std::byte*>(into);
  const auto* const values = static_cast<const std::byte*>(from);
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(into) % kLine;
  const std::size_t head = std::min(bytes, past_line == 0 ? 0 : kLine - past_line);
  const std::size_t lines = (bytes - head) / kLine * kLine;
  std::memcpy(to, values, head);
  stream_lines(to + head, values + head, lines);
  std::memcpy(to + head + lines, values + head + lines, bytes - head - lines);
}

void end_stream() { _mm_sfence(); }

#else

void stream(void* into, const void* from, std::size_t bytes) { std::memcpy(into, from, bytes); }
void end_stream() {}

#endif

}  // namespace coll
