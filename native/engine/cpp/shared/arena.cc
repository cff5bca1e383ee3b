#include "arena.h"

#if defined(__linux__)

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string>
#include <system_error>

#include "../cache_line.h"
#include "../error.h"
#include "../tuning.h"
#include "huge_pages.h"

namespace coll {
namespace {

constexpr std::size_t kTendedAtOnce = tuning::kHugePagesAtOnce * kHugePage;

// Removes the first or the last huge pages from a range and returns them.
Range take_first(Range& range, std::size_t bytes) {
  const Range first{range.begin, std::min(range.begin / kHugePage * kHugePage + bytes, range.end)};
  range.begin = first.end;
  return first;
}

Range take_last(Range& range, std::size_t bytes) {
  const std::size_t end = range.end / kHugePage * kHugePage;
  const Range last{end < range.begin + bytes ? range.begin : end - bytes, range.end};
  range.end = last.begin;
  return last;
}

}  // namespace

Arena::Arena(std::shared_ptr<Segment> segment, std::size_t begin, std::chrono::milliseconds keep)
    : keep_(keep), segment_(std::move(segment)), end_(begin) {}

Arena::~Arena() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_ended_ = true;
  }
  has_work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::byte* Arena::allocate(std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return take(bytes, [this](const Range& used) { std::memset(segment_->begin() + used.begin, 0, used.end - used.begin); });
}

std::byte* Arena::allocate_unset(std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return take(bytes, [](const Range&) {});
}

// Memory that is not idle is all zeros and has no pages yet.
template <class Found>
std::byte* Arena::take(std::size_t bytes, Found found_idle) {
  if (bytes > segment_->most_bytes()) throw Error("shared memory has no room for " + std::to_string(bytes) + " bytes");
  const std::size_t lines = in_cache_lines(std::max(bytes, std::size_t{1}));
  const std::size_t offset = find(lines);
  taken_.emplace(offset, lines);
  std::size_t idle_bytes = 0;
  idle_.take({offset, offset + lines}, [&](const Range& used) {
    idle_bytes += used.end - used.begin;
    found_idle(used);
  });
  if (lines - idle_bytes >= kHugePage) collapse({offset, offset + lines});
  return segment_->begin() + offset;
}

// The smallest hole that is large enough; otherwise memory at the end.
std::size_t Arena::find(std::size_t bytes) {
  auto best = free_.end();
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    if (hole->second >= bytes && (best == free_.end() || hole->second < best->second)) best = hole;
  }
  if (best == free_.end()) {
    segment_->grow_to(end_ + bytes);
    const std::size_t offset = end_;
    end_ += bytes;
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
  if (found == taken_.end()) throw Error("cannot free memory that was not allocated here");
  auto [offset, bytes] = *found;
  taken_.erase(found);
  const auto is_here = [first = offset, end = offset + bytes](const Range& range) { return first <= range.begin && range.end <= end; };
  to_collapse_.erase(std::remove_if(to_collapse_.begin(), to_collapse_.end(), is_here), to_collapse_.end());
  idle_.add({offset, offset + bytes}, Clock::now());
  if (is_resting_ && idle_.bytes() >= kHugePage) wake();
  add_hole(offset, bytes);
}

void Arena::add_hole(std::size_t offset, std::size_t bytes) {
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

void Arena::collapse(Range range) {
  const Clock::time_point end = Clock::now() + tuning::kLongestCollapse;
  while (range.begin < range.end && Clock::now() < end) {
    const Range part = take_first(range, kHugePage);
    collapse_into_huge_pages(segment_->begin(), part.begin, part.end);
  }
  if (range.begin == range.end) return;
  to_collapse_.push_back(range);
  wake();
}

void Arena::wake() {
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { tend(); });
  } catch (const std::system_error&) {
    // The system has no more threads. Without the thread, pages stay small, and returned memory is
    // kept until the group closes.
    return;
  }
  is_resting_ = false;
  has_work_.notify_one();
}

void Arena::tend() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!has_ended_) {
    if (collapse_next(lock)) continue;
    const Clock::time_point since = Clock::now() - keep_;
    if (give_back_next(since)) {
      // Unlocks, because other threads may be waiting.
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      continue;
    }
    is_resting_ = !idle_.has_younger_than(since);
    if (is_resting_) has_work_.wait(lock);
    else has_work_.wait_for(lock, keep_);
  }
}

bool Arena::collapse_next(std::unique_lock<std::mutex>& lock) {
  if (to_collapse_.empty()) return false;
  Range& next = to_collapse_.front();
  // Begins at the end of a tensor: programs fill a tensor from its beginning, and this thread and
  // the program slow each other down if they work at the same pages.
  const Range part = take_last(next, kTendedAtOnce);
  if (next.begin == next.end) to_collapse_.pop_front();
  lock.unlock();
  collapse_into_huge_pages(segment_->begin(), part.begin, part.end);
  lock.lock();
  return true;
}

bool Arena::give_back_next(Clock::time_point since) {
  const Range due = idle_.find(since, kTendedAtOnce);
  if (due.begin == due.end || !segment_->give_back(due.begin, due.end - due.begin)) return false;
  idle_.take(due, [](const Range&) {});
  return true;
}

}  // namespace coll

#endif
