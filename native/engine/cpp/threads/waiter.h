#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "assigned_core.h"
#include "waiting.h"

namespace coll {

// Where a rank tells the others what they need to wait for it.
struct Presence {
  // One more than the core that it ran on when it came; 0 where that is not known, or on the way to another one.
  std::atomic<int>& core;
  // Threads that sleep on its words.
  std::atomic<std::uint32_t>& parked;
};

// How a rank waits for words of others, and lets others know of its own. Ranks of which each has a core of its own look around for a
// while and keep out of each other's way; others let each other run soon. Then they sleep: at once where another program has the core.
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
  // For a rank on another core while no rank needs this one: a look around for some ten microseconds, and others run once.
  Patience looking() const;

  bool has_failed() const { return failure_.load(std::memory_order_acquire) != 0; }
  // Says on which core this rank is. If ranks share cores, it first returns to its assigned core.
  void tell_core();
  void publish(std::atomic<std::uint32_t>& word, std::uint32_t value) { publish_for(own_, word, value); }
  // A word of another rank, in its stead.
  void publish_for(const Presence& owner, std::atomic<std::uint32_t>& word, std::uint32_t value);
  // Whether the other rank's word came to be the value, or two more: whom others have helped may find them that far ahead. False after all
  // patience, or when the group has failed.
  bool await(std::atomic<std::uint32_t>& word, std::uint32_t value, const Presence& other, const Patience& patience);
  // Where ranks share cores: the one that this rank is on, as it tells it; otherwise 0.
  int shared_core() const { return has_own_core_ ? 0 : current_core() + 1; }
  // Whether all ranks came. Those on this core cannot come before they have it, so they are waited for first. Once they have, nobody here needs it
  // before the others come. `core_of` gives the word of each; `look` and `await` tell whether a rank is there, at once or after a while.
  template <class CoreOf, class Look, class Await>
  bool await_each(int ranks, CoreOf core_of, Look look, Await await) const {
    const int core = shared_core();
    for (int rank = 0; core != 0 && rank < ranks; ++rank) {
      if (core_of(rank).load(std::memory_order_relaxed) == core && !await(rank)) return false;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (!(core != 0 && look(rank)) && !await(rank)) return false;
    }
    return true;
  }

 private:
  bool yields_briefly();
  bool is_time_to_move();
  void leave(int core);
  // Whether the other rank was on another core than this one all along.
  bool make_way(const Presence& other);

  const Presence own_;
  const bool has_own_core_;
  AssignedCore assigned_core_;
  const std::atomic<std::int32_t>& failure_;
  const Reach reach_;
  const std::thread::id maker_ = std::this_thread::get_id();
  // In nanoseconds; 0 while that of its maker is as it was.
  std::uint64_t usual_turn_ = 0;
  Clock::time_point moved_{};
};

}  // namespace coll
