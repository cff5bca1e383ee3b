#pragma once

#include <cstddef>

namespace coll {

// What processors move between caches.
constexpr std::size_t kCacheLine = 64;

// Processors fetch lines in pairs: the second line of a pair comes along with the first.
constexpr std::size_t kCacheLinePair = 2 * kCacheLine;

// Rounds up to whole cache lines. Static, as files for several instruction sets include this.
static constexpr std::size_t in_cache_lines(std::size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace coll
