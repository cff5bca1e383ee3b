#pragma once

#include "../clock.h"
#include "../tuning.h"

namespace coll {

// The number of a rank among the ranks of its host, or of its process, that may use the same cores.
struct LocalRank {
  int number;
  int ranks;
  int cores;  // how many of the ranks can run at once

  bool has_own_core() const { return ranks <= cores; }
};

// The core to which a rank returns if ranks share cores. Every core gets about the same number of
// ranks, with consecutive numbers. Without this, systems let three of four ranks stay on one of two
// cores for tenths of a second, mostly after the ranks have slept.
class AssignedCore {
 public:
  explicit AssignedCore(const LocalRank& local, Clock::duration least_stay = tuning::kLeastStay) : local_(local), least_stay_(least_stay) {}

  // Moves the thread to its core if it runs elsewhere, at most once per `least_stay`. The thread may
  // still use all of its cores, and the system may move it again.
  void go_back();

 private:
  const LocalRank local_;
  const Clock::duration least_stay_;
  int core_ = -1;
  Clock::time_point returned_{};
};

}  // namespace coll
