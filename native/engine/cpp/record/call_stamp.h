#pragma once

#include <chrono>
#include <cstddef>

#include "../clock.h"

namespace coll {

// The entry of the call that the calling thread executes, in the record of the thread that made the
// call; null if the call is not recorded.
#if defined(__linux__)
std::byte* recorded_call();
#else
inline std::byte* recorded_call() { return nullptr; }
#endif

// Waits shorter than this are not recorded.
constexpr std::chrono::microseconds kLeastRecordedWait{20};

// Records when native code begins and ends a call. Calls that wait or move much data get the exact
// time, which takes about as long as a tenth of the smallest call; others get the time of the
// system's latest tick.
class CallStamp {
 public:
  CallStamp() : call_(recorded_call()) {
    if (call_ != nullptr) begin();
  }
  // To be called if the call has ended, and not only its first part.
  void end() const {
    if (call_ != nullptr) write_end();
  }

 private:
  void begin() const;
  void write_end() const;

  std::byte* const call_;
};

// Lets the calling thread, which has no record, execute a call of another thread while the object
// lives. `call`: its entry; null if it is not recorded. The record must exist that long.
class ContinuedCall {
 public:
#if defined(__linux__)
  explicit ContinuedCall(std::byte* call);
  ~ContinuedCall();
#else
  explicit ContinuedCall(std::byte*) {}
#endif
  ContinuedCall(const ContinuedCall&) = delete;
  ContinuedCall& operator=(const ContinuedCall&) = delete;
};

// Records a wait of the current call for other ranks.
class WaitStamp {
 public:
  // To be called in every round of a wait. Returns whether record() is due.
  bool look(Clock::time_point now) {
    if (since_ == Clock::time_point{}) since_ = now;
    return call_ == nullptr && now - since_ >= kLeastRecordedWait;
  }
  // Also to be called before the thread sleeps. `missing`: the first rank that is missing; -1 if it
  // is not known.
  void record(int missing);
  // The wait ends, perhaps before the ranks have arrived.
  void end(bool have_arrived) {
    if (since_ == Clock::time_point{}) return;
    if (call_ != nullptr) write_end(have_arrived);
    since_ = {};
    call_ = nullptr;
  }

 private:
  void write_end(bool have_arrived) const;

  Clock::time_point since_{};
  std::byte* call_ = nullptr;
};

// Records that the first data of another rank has arrived.
void stamp_first_data(std::byte* call, Clock::time_point now);

}  // namespace coll
