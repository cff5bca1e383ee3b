#pragma once

#include <atomic>
#include <chrono>

#include "../clock.h"

namespace coll {

// How many helpers of a process get cores at the same time. The system may announce cores that it
// does not give, because of a quota or other programs. So the number begins at one, and grows by
// one with each task that had a helper more and during which no thread was suspended. It is halved
// when threads were suspended; then it does not grow again for a time that doubles each time.
class HelperLimit {
 public:
  // The longest and the shortest time that a worker of a task took for a unit.
  struct UnitTimes {
    Clock::duration longest;
    Clock::duration shortest;
  };

  // How many helpers to ask for a task that is worth `wanted` of them.
  int allowed(int wanted, Clock::time_point now) const;
  // Called after a task for which `asked` helpers were asked and in which `helped` took part. Does
  // nothing unless at least two were asked: a task always may have one.
  void learn(int asked, int helped, const UnitTimes& times, Clock::time_point now);

 private:
  void wait_longer(Clock::time_point now);

  // Tasks of several owners may end at the same time. Then some of what they learn is lost.
  std::atomic<int> limit_{1};
  std::atomic<Clock::duration> pause_{Clock::duration::zero()};
  std::atomic<Clock::time_point> resumes_{Clock::time_point{}};
};

}  // namespace coll
