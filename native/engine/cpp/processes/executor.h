#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "../threads/member.h"
#include "../threads/offer.h"

namespace coll {

// Not 0 once the group has failed; set by the thread that first detects the failure. Every wait of
// an executor reads it, at least every 5 ms while asleep.
using FailureWord = std::atomic<std::int32_t>;

// The time slice of callers that need not return early.
constexpr std::chrono::microseconds kLongestTimeSlice = std::chrono::hours(1);

// Executes the collectives of one rank of a group of processes over some transport. Called by one thread at a time.
class Executor {
 public:
  virtual ~Executor() = default;
  // Begins or continues a collective; blocks the calling thread. Returns
  // kDone: the collective is complete. kWaiting: nothing arrived for as long as `patience`: check
  // the group, then call again with the same offer. kSlice: the time slice is nearly over while
  // data still moves: call again with the same offer. kFailed: the group has failed. kDisagreed:
  // another rank announced another fingerprint.
  // Between calls, nobody accesses memory of the offer that other ranks cannot see, so that this
  // memory may move.
  virtual Status execute(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice = kLongestTimeSlice) = 0;
  // Drops the collective under way, after the group has failed.
  virtual void abandon() = 0;
  // Whether all data that the last collective needed from other ranks had arrived when it began.
  // Those ranks may have given up since, unless the executor itself would notice.
  virtual bool came_last() const { return false; }
};

}  // namespace coll
