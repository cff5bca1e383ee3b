#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../cache_line.h"
#include "../tuning.h"
#include "offer.h"
#include "waiting.h"

namespace coll {

// What fits into the line that announces a rank. The other line of the pair comes along to all ranks that poll this one, and its
// owner would have to get it back before it can write there.
constexpr std::size_t kTinyBytes = 48;

// Asks for an input that came along, before anything is done with its first line. Only where that is all of its lines: the last one decides.
inline void fetch_payload(const std::byte* payload, std::size_t bytes) {
  if (bytes <= kTinyBytes || bytes > tuning::kFetchedBytes) return;
  for (std::size_t at = 0; at < bytes; at += kCacheLine) fetch(payload + at);
}

// What a rank announces when it arrives at a meeting. Small inputs come along, the smallest in the same cache line.
struct alignas(kCacheLinePair) Announcement {
  std::atomic<std::uint32_t> meeting;
  std::uint32_t offer_id;
  std::uint64_t fingerprint;
  std::byte tiny[kTinyBytes];
  // Not beside the line that others poll all the time: it would be taken from its owner while it is written.
  alignas(kCacheLinePair) std::byte small[tuning::kSmallBytes];
  // Written, and looked at, only where an offer is new.
  alignas(kCacheLinePair) const Offer* offer;
  const std::byte* input;
  std::byte* output;

  std::byte* payload(std::size_t bytes) { return bytes <= kTinyBytes ? tiny : small; }
};

// Whether inputs come along with announcements. Then every rank works off all of the collective by itself, which is no gain among many. All
// ranks come to the same answer.
bool is_small(const Offer& offer);

// What one rank shows the others. Only its own thread writes here, but for `taken`.
struct RankState {
  // Meetings take turns: a rank comes to meeting n + 2 only when all have finished meeting n.
  Announcement announcements[2];
  // Read only by ranks that have waited for long, so that writing it costs nothing.
  alignas(kCacheLinePair) std::atomic<std::uint32_t> started;
  // One more than the core that it ran on when it came; 0 where that is not known. Others look at it before they wait.
  alignas(kCacheLinePair) std::atomic<int> core;
  // How many units of its slice are taken, by itself or by others, in a meeting that has begun.
  alignas(kCacheLinePair) std::atomic<std::size_t> taken;
  alignas(kCacheLinePair) std::atomic<std::uint32_t> done;
};

// What the ranks of a group share beside their buffers: memory of zeros that outlives all of them.
struct alignas(kCacheLinePair) Board {
  // Ranks that want to leave a meeting.
  std::atomic<std::uint32_t> leaving;
  // Threads that sleep on a word here.
  std::atomic<std::uint32_t> parked;

  RankState* states() { return reinterpret_cast<RankState*>(this + 1); }

  static std::size_t bytes_for(int ranks) { return kCacheLinePair + sizeof(Board) + static_cast<std::size_t>(ranks) * sizeof(RankState); }

  // The board in memory of `bytes_for` bytes, wherever that begins.
  static Board& in(std::byte* memory) {
    const std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(memory) + kCacheLinePair - 1) / kCacheLinePair * kCacheLinePair;
    return *reinterpret_cast<Board*>(at);
  }
};

}  // namespace coll
