#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "../record/call_stamp.h"
#include "../tuning.h"
#include "assigned_core.h"
#include "crowding.h"
#include "waiting.h"

namespace coll {

using tuning::Patience;

// The words of all ranks of a group, by rank. A rank arrives when its word becomes the awaited
// value.
using Words = std::vector<std::atomic<std::uint32_t>*>;

// One more than the number of the core on which each rank ran when it arrived; 0 if unknown, or
// while the rank moves.
using Cores = std::vector<std::atomic<int>*>;

// The gate at which the ranks of a group sleep. The last rank to arrive opens it, so that each rank
// is woken once, instead of once for every arrival.
struct Gate {
  std::atomic<std::uint32_t>& openings;  // how often it was opened
  std::atomic<std::uint32_t>& sleepers;  // the number of threads that sleep, or are about to
};

// Waits until all ranks of a group arrive, and publishes this rank's own arrival, for threads and
// for shared memory. Ranks with a core each spin for a while and avoid each other's cores; ranks
// that share cores yield soon. After that they sleep, or at once if another program uses the core.
class Waiter {
 public:
  Waiter(int rank, Cores cores, Gate gate, const LocalRank& local, const std::atomic<std::int32_t>& failure, Reach reach);
  // Restores the time slices of the thread that made this object, if it is destroyed in that
  // thread.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // blocking(): spins, yields, then sleeps up to `sleep_millis`. brief(): spins and yields for some
  // ten microseconds. patient(): like brief(), with a short sleep at the end, which is longer if
  // more ranks share cores.
  Patience blocking(int sleep_millis) const;
  Patience brief() const;
  Patience patient() const;

  bool has_failed() const { return failure_.load(std::memory_order_acquire) != 0; }
  // Whether this rank shares its core with others: there are fewer cores than ranks, or waiting has
  // shown it.
  bool shares_core() const { return crowding_.is_crowded(); }
  // The published number of this rank's core if it shares the core; otherwise 0.
  int shared_core() const { return shares_core() ? current_core() + 1 : 0; }
  // Publishes on which core this rank runs. If ranks share cores, it first returns to its assigned core.
  void publish_core();
  // Publishes a word of `words`, of this rank or of another one on its behalf, and wakes the ranks
  // that sleep if it is the last one to arrive.
  void publish(const Words& words, int rank, std::uint32_t value);
  // Waits until all words are `value`, or `value + 2`: a rank whose work others have done may be
  // that far ahead. Returns false if `patience` has run out or the group has failed.
  bool await_all(const Words& words, std::uint32_t value, const Patience& patience);

 private:
  std::atomic<int>& own_core() const { return *cores_[rank_]; }
  bool arrive_all(const Words& words, std::uint32_t value, const Patience& patience);
  bool spin(const Words& words, std::uint32_t value, const Patience& patience);
  bool spin_for(const Words& words, std::size_t rank, std::uint32_t value, const Patience& patience);
  bool take_turns(const Words& words, std::uint32_t value, const Patience& patience);
  void look_at_wait(std::size_t missing);
  bool is_core_needed(const Words& words, std::uint32_t value, std::size_t first) const;
  bool is_any_on(int core) const;
  bool sleep(const Words& words, std::uint32_t value, int millis);
  bool yields_briefly();
  void leave(int core);
  // Moves to another core if the rank whose core is given runs on this one. Returns whether it runs
  // elsewhere already.
  bool avoid_core_of(const std::atomic<int>& other);

  const std::size_t rank_;
  const Cores cores_;
  const Gate gate_;
  Crowding crowding_;
  AssignedCore assigned_core_;
  const std::atomic<std::int32_t>& failure_;
  const Reach reach_;
  const std::thread::id maker_ = std::this_thread::get_id();
  // The usual length of this thread's time slices in nanoseconds; 0 if it was not changed.
  std::uint64_t usual_time_slice_ = 0;
  Clock::time_point moved_{};
  WaitStamp wait_stamp_;
};

}  // namespace coll
