#include "idle_memory.h"

#if defined(__linux__)

#include <algorithm>

#include "huge_pages.h"

namespace coll {

void IdleMemory::add(Range range, Clock::time_point since) {
  ranges_.emplace(range.begin, IdleRange{range.end, since});
  bytes_ += range.end - range.begin;
}

Range IdleMemory::find(Clock::time_point since, std::size_t most_bytes) const {
  Range run{0, 0};
  const auto whole_pages = [&] {
    const std::size_t begin = (run.begin + kHugePage - 1) / kHugePage * kHugePage;
    const std::size_t end = run.end / kHugePage * kHugePage;
    return Range{begin, begin < end ? std::min(end, begin + most_bytes) : begin};
  };
  for (const auto& [begin, idle] : ranges_) {
    if (idle.since > since) continue;
    if (begin != run.end) run.begin = begin;
    run.end = idle.end;
    const Range found = whole_pages();
    if (found.end - found.begin == most_bytes) return found;
    const auto next = ranges_.find(idle.end);
    const bool goes_on = next != ranges_.end() && next->second.since <= since;
    if (!goes_on && found.begin < found.end) return found;
  }
  return {0, 0};
}

bool IdleMemory::has_younger_than(Clock::time_point since) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [since](const auto& idle) { return idle.second.since > since; });
}

}  // namespace coll

#endif
