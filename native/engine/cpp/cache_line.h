#pragma once

#include <cstddef>

namespace coll {

// The unit in which processors move data between caches.
constexpr std::size_t kCacheLine = 64;

// Processors fetch lines in pairs: with one line of a pair they also fetch the other.
constexpr std::size_t kCacheLinePair = 2 * kCacheLine;

// Rounds up to whole cache lines. Static, as files for several instruction sets include this.
static constexpr std::size_t in_cache_lines(std::size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace coll
