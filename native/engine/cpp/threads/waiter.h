#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "../tuning.h"
#include "assigned_core.h"
#include "waiting.h"

namespace coll {

using tuning::Patience;

// What a rank publishes for the ranks that wait for it.
struct Presence {
  // One more than the number of the core on which it ran when it arrived; 0 if unknown, or while it
  // moves.
  std::atomic<int>& core;
  // The number of threads that sleep on its words.
  std::atomic<std::uint32_t>& parked;
};

// Waits for words of other ranks and publishes this rank's own, for threads and for shared memory.
// Ranks with a core each spin for a while and avoid each other's cores; ranks that share cores
// yield soon. Then they sleep, at once if another program has the core.
class Waiter {
 public:
  Waiter(Presence own, const LocalRank& local, const std::atomic<std::int32_t>& failure, Reach reach);
  // Restores the time slices of the thread that made it, if it is destroyed in that thread.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // blocking(): spins, yields, then sleeps up to `sleep_millis`. brief(): some ten microseconds
  // without sleep. patient(): the same and a short sleep.
  Patience blocking(int sleep_millis) const;
  Patience brief() const;
  Patience patient() const;
  // For a rank on another core, while no rank needs this core: some ten microseconds of polling and
  // one yield.
  Patience polling() const;

  bool has_failed() const { return failure_.load(std::memory_order_acquire) != 0; }
  // Publishes on which core this rank runs. If ranks share cores, it first returns to its assigned core.
  void publish_core();
  void publish(std::atomic<std::uint32_t>& word, std::uint32_t value) { publish_for(own_, word, value); }
  // Publishes a word of another rank on its behalf.
  void publish_for(const Presence& owner, std::atomic<std::uint32_t>& word, std::uint32_t value);
  // Whether the other rank's word becomes `value`, or `value + 2`: a rank that others have helped
  // may be that far ahead. False once `patience` is exhausted, or if the group has failed.
  bool await(std::atomic<std::uint32_t>& word, std::uint32_t value, const Presence& other, const Patience& patience);
  // If ranks share cores, this rank's core as it is published; otherwise 0.
  int shared_core() const { return has_own_core_ ? 0 : current_core() + 1; }
  // Whether all ranks arrive. Ranks on this core cannot arrive before they get the core, so they
  // are awaited first. After that, no rank here needs the core until the others arrive, so those
  // are polled first. `core_of` returns the word with a rank's core; `poll` and `await` return
  // whether a rank has arrived, immediately or after a while.
  template <class CoreOf, class Poll, class Await>
  bool await_each(int ranks, CoreOf core_of, Poll poll, Await await) const {
    const int core = shared_core();
    for (int rank = 0; core != 0 && rank < ranks; ++rank) {
      if (core_of(rank).load(std::memory_order_relaxed) == core && !await(rank)) return false;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (!(core != 0 && poll(rank)) && !await(rank)) return false;
    }
    return true;
  }

 private:
  bool yields_briefly();
  bool is_time_to_move();
  void leave(int core);
  // Moves to another core if the other rank runs on this one. Returns whether the other rank was on
  // another core already.
  bool avoid_core_of(const Presence& other);

  const Presence own_;
  const bool has_own_core_;
  AssignedCore assigned_core_;
  const std::atomic<std::int32_t>& failure_;
  const Reach reach_;
  const std::thread::id maker_ = std::this_thread::get_id();
  // In nanoseconds; 0 while the maker's time slices are unchanged.
  std::uint64_t usual_time_slice_ = 0;
  Clock::time_point moved_{};
};

}  // namespace coll
