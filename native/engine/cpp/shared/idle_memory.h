#pragma once

#if defined(__linux__)

#include <chrono>
#include <cstddef>
#include <map>

#include "../clock.h"
#include "../threads/request.h"

namespace coll {

// Ranges of returned memory that the system has not got back yet, by offset, with the time at which
// they were returned.
class IdleMemory {
 public:
  void add(Range range, Clock::time_point since);
  // Removes a range. Calls `found` for each part of it that was idle.
  template <class Found>
  void take(Range range, Found found);
  // The first huge pages, at most `most_bytes`, that have been idle since `since` or longer; an
  // empty range if there are none.
  Range find(Clock::time_point since, std::size_t most_bytes) const;
  std::size_t bytes() const { return bytes_; }
  // Whether any memory became idle later than `since`.
  bool has_younger_than(Clock::time_point since) const;

 private:
  struct IdleRange {
    std::size_t end;
    Clock::time_point since;
  };

  std::map<std::size_t, IdleRange> ranges_;  // by begin; no two overlap
  std::size_t bytes_ = 0;
};

template <class Found>
void IdleMemory::take(Range range, Found found) {
  auto next = ranges_.upper_bound(range.begin);
  if (next != ranges_.begin()) --next;
  while (next != ranges_.end() && next->first < range.end) {
    const std::size_t begin = next->first;
    const IdleRange idle = next->second;
    if (idle.end <= range.begin) {
      ++next;
      continue;
    }
    next = ranges_.erase(next);
    if (begin < range.begin) ranges_.emplace(begin, IdleRange{range.begin, idle.since});
    if (idle.end > range.end) next = ranges_.emplace(range.end, IdleRange{idle.end, idle.since}).first;
    const Range part{begin < range.begin ? range.begin : begin, idle.end < range.end ? idle.end : range.end};
    bytes_ -= part.end - part.begin;
    found(part);
  }
}

}  // namespace coll

#endif
