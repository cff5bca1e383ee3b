#pragma once

#if defined(__linux__)

#include <chrono>
#include <cstddef>
#include <map>

#include "../threads/request.h"

namespace coll {

// What tensors have left behind: memory that is nobody's and still takes room in the system. By offset, and since when.
class IdleMemory {
 public:
  using Clock = std::chrono::steady_clock;

  void add(Range range, Clock::time_point since);
  // Takes a range out; calls `found` for each part of it that was idle.
  template <class Found>
  void take(Range range, Found found);
  // The first whole huge pages, up to so many bytes, that have been idle since then or longer; an empty range if there are none.
  Range find(Clock::time_point since, std::size_t most_bytes) const;
  std::size_t bytes() const { return bytes_; }
  // Whether any became idle later than that.
  bool has_younger_than(Clock::time_point since) const;

 private:
  struct Piece {
    std::size_t end;
    Clock::time_point since;
  };

  std::map<std::size_t, Piece> pieces_;  // by begin; no two overlap
  std::size_t bytes_ = 0;
};

template <class Found>
void IdleMemory::take(Range range, Found found) {
  auto next = pieces_.upper_bound(range.begin);
  if (next != pieces_.begin()) --next;
  while (next != pieces_.end() && next->first < range.end) {
    const std::size_t begin = next->first;
    const Piece piece = next->second;
    if (piece.end <= range.begin) {
      ++next;
      continue;
    }
    next = pieces_.erase(next);
    if (begin < range.begin) pieces_.emplace(begin, Piece{range.begin, piece.since});
    if (piece.end > range.end) next = pieces_.emplace(range.end, Piece{piece.end, piece.since}).first;
    const Range part{begin < range.begin ? range.begin : begin, piece.end < range.end ? piece.end : range.end};
    bytes_ -= part.end - part.begin;
    found(part);
  }
}

}  // namespace coll

#endif
