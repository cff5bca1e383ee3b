#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "../threads/member.h"
#include "../threads/offer.h"

namespace coll {

// Set once, by whoever finds the failure first. Every wait of an executor reads it, at least every 5 ms while asleep.
using FailureWord = std::atomic<std::int32_t>;

// For those who need not come back.
constexpr std::chrono::microseconds kLongestTimeSlice = std::chrono::hours(1);

// Executes the collectives of one rank of a group of processes over some transport. Called by one thread at a time.
class Executor {
 public:
  virtual ~Executor() = default;
  // Goes on with a collective, or begins one; blocks the calling thread.
  // kWaiting: nothing has come for as long as `patience`; look after the group, then call again with the same offer. kSlice: the same, but things move, and
  // the time slice is about over. kFailed: the group has failed. kDisagreed: another rank announced another fingerprint. kDone. Until it is called
  // again, nobody touches memory of the offer that no other rank sees, and it may move.
  virtual Status execute(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice = kLongestTimeSlice) = 0;
  // Forgets the collective under way; the group has failed.
  virtual void abandon() = 0;
  // Whether the collective that has just ended found all that it needs of the others when it began. They may have given up since, unless
  // the executor itself learns that.
  virtual bool came_last() const { return false; }
};

}  // namespace coll
