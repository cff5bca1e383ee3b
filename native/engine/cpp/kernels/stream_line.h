#pragma once

#include <cstddef>
#include <cstring>

#include "../cache_line.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Included by files for several instruction sets, each of which needs its own copy: hence no linkage.
namespace coll {
namespace {

// Writes a whole, aligned cache line, bypassing the caches; a partial line would have to be read
// first. Other threads see it after end_stream().
#if defined(__AVX512F__)

inline void stream_line(void* into, const void* from) {
  _mm512_stream_si512(static_cast<__m512i*>(into), _mm512_loadu_si512(from));
}

#elif defined(__SSE2__)

inline void stream_line(void* into, const void* from) {
  auto* const to = static_cast<__m128i*>(into);
  const auto* const values = static_cast<const __m128i*>(from);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(to + i, _mm_loadu_si128(values + i));
}

#else

// Without streaming instructions, lines are written in the usual way.
inline void stream_line(void* into, const void* from) { std::memcpy(into, from, kCacheLine); }

#endif

inline void end_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace
}  // namespace coll
