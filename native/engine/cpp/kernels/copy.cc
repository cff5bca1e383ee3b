#include "copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../tuning.h"
#include "stream_line.h"

namespace coll {
namespace {

void stream_part(std::byte* into, const std::byte* from, std::size_t bytes) {
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(into) % kCacheLine;
  const std::size_t head = std::min(bytes, past_line == 0 ? 0 : kCacheLine - past_line);
  const std::size_t end_of_lines = bytes - (bytes - head) % kCacheLine;
  std::memcpy(into, from, head);
  for (std::size_t at = head; at < end_of_lines; at += kCacheLine) stream_line(into + at, from + at);
  std::memcpy(into + end_of_lines, from + end_of_lines, bytes - end_of_lines);
}

// Whether the C library copies this slowly on Zen 3 and 4: see tuning::kLeastMovsb. Always false
// with ThreadSanitizer: it checks a copy of the library as one access, but a copy by lines as many,
// which takes far longer.
bool is_slow_for_the_c_library(const std::byte* into, const std::byte* from, std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  return false;
#endif
  constexpr std::size_t kPageBytes = 4096;
  const std::size_t ahead = (reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(from)) % kPageBytes;
  return bytes >= tuning::kLeastMovsb && ahead > 0 && ahead < kCacheLine;
}

void copy_lines(std::byte* into, const std::byte* from, std::size_t bytes) {
  std::size_t at = 0;
  for (; at + kCacheLine <= bytes; at += kCacheLine) std::memcpy(into + at, from + at, kCacheLine);
  std::memcpy(into + at, from + at, bytes - at);
}

void copy_cached(std::byte* into, const std::byte* from, std::size_t bytes) {
  if (is_slow_for_the_c_library(into, from, bytes)) copy_lines(into, from, bytes);
  else std::memcpy(into, from, bytes);
}

}  // namespace

void copy_part(void* into, const void* from, std::size_t bytes, Write write) {
  if (write == Write::kCached) copy_cached(static_cast<std::byte*>(into), static_cast<const std::byte*>(from), bytes);
  else stream_part(static_cast<std::byte*>(into), static_cast<const std::byte*>(from), bytes);
}

void copy(void* into, const void* from, std::size_t bytes, Write write) {
  if (into == from || bytes == 0) return;
  copy_part(into, from, bytes, write);
  if (write == Write::kStreamed) end_stream();
}

}  // namespace coll
