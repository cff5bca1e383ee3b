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

// What a rank publishes for those that wait for it.
struct Presence {
  // One more than the core that it ran on when it came; 0 where that is not known, or on the way to another one.
  std::atomic<int>& core;
  // Threads that sleep on its words.
  std::atomic<std::uint32_t>& parked;
};

// Waits for words of other ranks and publishes this rank's own, for threads and for shared memory. Ranks with a core each spin for a while and
// avoid each other's cores; ranks that share cores yield soon. Then they sleep: at once if another program has the core.
class Waiter {
 public:
  Waiter(Presence own, const LocalRank& local, const std::atomic<std::int32_t>& failure, Reach reach);
  // The thread of the program that made it is as it was before, if it ends there.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // As long as is good, sleeping up to `sleep_millis` at last; and some ten microseconds, or some more with a short sleep.
  Patience blocking(int sleep_millis) const;
  Patience brief() const;
  Patience patient() const;
  // For a rank on another core while no rank needs this one: some ten microseconds of polling and one yield.
  Patience polling() const;

  bool has_failed() const { return failure_.load(std::memory_order_acquire) != 0; }
  // Publishes on which core this rank runs. If ranks share cores, it first returns to its assigned core.
  void publish_core();
  void publish(std::atomic<std::uint32_t>& word, std::uint32_t value) { publish_for(own_, word, value); }
  // A word of another rank, in its stead.
  void publish_for(const Presence& owner, std::atomic<std::uint32_t>& word, std::uint32_t value);
  // Whether the other rank's word came to be the value, or two more: whom others have helped may find them that far ahead. False after all
  // patience, or when the group has failed.
  bool await(std::atomic<std::uint32_t>& word, std::uint32_t value, const Presence& other, const Patience& patience);
  // Where ranks share cores: the one that this rank is on, as published; otherwise 0.
  int shared_core() const { return has_own_core_ ? 0 : current_core() + 1; }
  // Whether all ranks came. Those on this core cannot come before they have it, so they are waited for first. Once they have, nobody here needs it
  // before the others come. `core_of` gives the word of each; `poll` and `await` return whether a rank is there, at once or after a while.
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
  // Moves to another core if the other rank runs on this one. Whether that rank was on another core all along.
  bool avoid_core_of(const Presence& other);

  const Presence own_;
  const bool has_own_core_;
  AssignedCore assigned_core_;
  const std::atomic<std::int32_t>& failure_;
  const Reach reach_;
  const std::thread::id maker_ = std::this_thread::get_id();
  // In nanoseconds; 0 while that of its maker is as it was.
  std::uint64_t usual_time_slice_ = 0;
  Clock::time_point moved_{};
};

}  // namespace coll
