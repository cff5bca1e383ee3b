#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../cache_line.h"
#include "../thresholds.h"
#include "../tuning.h"
#include "offer.h"
#include "waiting.h"

namespace coll {

// Inputs up to this size fit into the cache line of the announcement itself. Its neighbour, the
// other line of the pair, stays unused: processors that poll fetch both lines, and the owner would
// have to get the second one back before each write.
constexpr std::size_t kTinyBytes = 48;

// Prefetches an announced input. Does nothing for inputs with more lines than are prefetched at
// once: their last line decides, and it would not arrive sooner.
inline void fetch_payload(const std::byte* payload, std::size_t bytes) {
  if (bytes <= kTinyBytes || bytes > tuning::kFetchedBytes) return;
  for (std::size_t at = 0; at < bytes; at += kCacheLine) fetch(payload + at);
}

// The announcement of a rank that arrives at a meeting. Small inputs are part of it; the smallest
// ones are in the same cache line.
struct alignas(kCacheLinePair) Announcement {
  std::atomic<std::uint32_t> meeting;
  std::uint32_t offer_id;
  std::uint64_t fingerprint;
  std::byte tiny[kTinyBytes];
  // Lies in a pair of cache lines of its own: other ranks poll the line above all the time, and
  // would take this one from its owner while it is written.
  alignas(kCacheLinePair) std::byte small[tuning::kMostSmallBytes];
  // Written and read only if the offer is new.
  alignas(kCacheLinePair) const Offer* offer;
  const std::byte* input;
  std::byte* output;

  std::byte* payload(std::size_t bytes) { return bytes <= kTinyBytes ? tiny : small; }
};

// Whether the inputs of a collective are part of the announcements. Every rank then computes the
// whole result by itself, which is slow with many ranks. All ranks get the same answer.
bool is_small(const Offer& offer, const Thresholds& thresholds);

// The state that one rank publishes. Only its own thread writes here, except to `taken`.
struct RankState {
  // Announcements alternate: a rank comes to meeting n + 2 only when all ranks have finished
  // meeting n.
  Announcement announcements[2];
  // Lies apart from the announcements: other ranks read it only after a long wait, so that writing
  // it costs little.
  alignas(kCacheLinePair) std::atomic<std::uint32_t> started;
  // One more than the number of the core on which this rank ran when it arrived; 0 if unknown.
  // Other ranks read it before they wait.
  alignas(kCacheLinePair) std::atomic<int> core;
  // The number of units of this rank's slice that any rank has taken in a meeting that has begun.
  alignas(kCacheLinePair) std::atomic<std::size_t> taken;
  alignas(kCacheLinePair) std::atomic<std::uint32_t> done;
};

// The memory that the ranks of a group share besides their buffers. It begins as zeros and outlives
// all ranks.
struct alignas(kCacheLinePair) Board {
  // The number of ranks that are trying to leave a meeting.
  std::atomic<std::uint32_t> leaving;
  // Words of the gate at which the ranks sleep.
  std::atomic<std::uint32_t> openings;
  std::atomic<std::uint32_t> sleepers;

  RankState* states() { return reinterpret_cast<RankState*>(this + 1); }

  static std::size_t bytes_for(int ranks) { return kCacheLinePair + sizeof(Board) + static_cast<std::size_t>(ranks) * sizeof(RankState); }

  // The board in `bytes_for` bytes of memory, which need not be aligned.
  static Board& in(std::byte* memory) {
    const std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(memory) + kCacheLinePair - 1) / kCacheLinePair * kCacheLinePair;
    return *reinterpret_cast<Board*>(at);
  }
};

}  // namespace coll
