#include "arena.h"

#if defined(__linux__)

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string>
#include <system_error>

#include "../error.h"
#include "../threads/board.h"
#include "huge_pages.h"

namespace coll {
namespace {

using Clock = std::chrono::steady_clock;

// Whoever allocates gathers for this long, which is enough for 256 MiB where pages are at hand: filling small pages takes four times as long
// as gathering and filling huge ones. Where the system first has to find memory, the same takes a second.
constexpr std::chrono::milliseconds kLongestGathering{25};

// Gathered in one call, since each first waits for all processors; but no longer than the end of a group may take.
constexpr std::size_t kTendedAtOnce = 8 * kHugePage;

// Take the first or the last huge pages of a range out of it.
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

Arena::Arena(std::shared_ptr<Segment> segment, std::size_t begin) : segment_(std::move(segment)), end_(begin) {}

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
  const std::size_t fresh = end_;
  const std::size_t offset = find(lines);
  taken_.emplace(offset, lines);
  if (offset >= fresh && lines >= kHugePage) gather({offset, offset + lines});
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
  const auto is_here = [first = offset, end = offset + bytes](const Range& range) { return first <= range.begin && range.end <= end; };
  to_gather_.erase(std::remove_if(to_gather_.begin(), to_gather_.end(), is_here), to_gather_.end());
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

void Arena::gather(Range range) {
  const Clock::time_point end = Clock::now() + kLongestGathering;
  while (range.begin < range.end && Clock::now() < end) {
    const Range part = take_first(range, kHugePage);
    gather_into_huge_pages(segment_->begin(), part.begin, part.end);
  }
  if (range.begin == range.end) return;
  to_gather_.push_back(range);
  wake();
}

void Arena::wake() {
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { tend(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: small pages do as well.
    return;
  }
  has_work_.notify_one();
}

void Arena::tend() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!has_ended_) {
    if (!gather_next(lock)) has_work_.wait(lock);
  }
}

bool Arena::gather_next(std::unique_lock<std::mutex>& lock) {
  if (to_gather_.empty()) return false;
  Range& next = to_gather_.front();
  // From the end: programs fill a tensor from its begin, and where both meet they hinder each other.
  const Range part = take_last(next, kTendedAtOnce);
  if (next.begin == next.end) to_gather_.pop_front();
  lock.unlock();
  gather_into_huge_pages(segment_->begin(), part.begin, part.end);
  lock.lock();
  return true;
}

}  // namespace coll

#endif
