#include "copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "stream_line.h"

namespace coll {
namespace {

void stream_part(std::byte* into, const std::byte* from, std::size_t bytes) {
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(into) % kLineBytes;
  const std::size_t head = std::min(bytes, past_line == 0 ? 0 : kLineBytes - past_line);
  const std::size_t end_of_lines = bytes - (bytes - head) % kLineBytes;
  std::memcpy(into, from, head);
  for (std::size_t at = head; at < end_of_lines; at += kLineBytes) stream_line(into + at, from + at);
  std::memcpy(into + end_of_lines, from + end_of_lines, bytes - end_of_lines);
}

}  // namespace

void copy_part(void* into, const void* from, std::size_t bytes, Write write) {
  if (write == Write::kCached) std::memcpy(into, from, bytes);
  else stream_part(static_cast<std::byte*>(into), static_cast<const std::byte*>(from), bytes);
}

void copy(void* into, const void* from, std::size_t bytes, Write write) {
  if (into == from || bytes == 0) return;
  copy_part(into, from, bytes, write);
  if (write == Write::kStreamed) end_stream();
}

}  // namespace coll
