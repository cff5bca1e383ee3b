#pragma once

#include <sched.h>
#include <time.h>

namespace coll {

// How a thread waits between two polls of MPI. MPI libraries spin, which takes the core from ranks
// that share it.
struct WaitingPolicy {
  // The number of polls before the thread yields its core, and before it sleeps between polls.
  int spins = 50;
  int yields = 2000;

  // Spins longer if each rank of this host has a core.
  static WaitingPolicy of(int local_ranks, int cores) { return local_ranks <= cores ? WaitingPolicy{1000, 4000} : WaitingPolicy{20, 2000}; }
};

class Backoff {
 public:
  explicit Backoff(WaitingPolicy policy) : policy_(policy) {}

  void pause() {
    ++looks_;
    if (looks_ <= policy_.spins) return;
    if (looks_ <= policy_.yields) {
      sched_yield();
      return;
    }
    const timespec nap = {0, 50'000};
    nanosleep(&nap, nullptr);
  }
  void reset() { looks_ = 0; }
  // Whether it is time for work that costs as much as several polls.
  bool is_due() const { return looks_ % 16 == 0 || looks_ > policy_.yields; }

 private:
  WaitingPolicy policy_;
  int looks_ = 0;
};

}  // namespace coll
