#pragma once

#include <atomic>
#include <chrono>

#include "../clock.h"

namespace coll {

// Learns how many helpers of a process get cores at the same time: because of a quota or other
// programs, the system may give fewer cores than it reports. The limit begins at one. It grows by
// one with each task that had one more helper and during which no thread was suspended. It is
// halved when threads were suspended, and then stays for a time that doubles each time.
class HelperLimit {
 public:
  // The longest and the shortest time that a worker of a task took for a unit.
  struct UnitTimes {
    Clock::duration longest;
    Clock::duration shortest;
  };

  // The number of helpers for a task that could use `wanted`.
  int allowed(int wanted, Clock::time_point now) const;
  // Called after a task that has asked for `asked` helpers and got `helped`. Does nothing if fewer
  // than two were asked for: a task may always have one.
  void learn(int asked, int helped, const UnitTimes& times, Clock::time_point now);

 private:
  void wait_longer(Clock::time_point now);

  // Tasks of several owners may end at the same time. Then some of what they learn is lost.
  std::atomic<int> limit_{1};
  std::atomic<Clock::duration> pause_{Clock::duration::zero()};
  std::atomic<Clock::time_point> resumes_{Clock::time_point{}};
};

}  // namespace coll
