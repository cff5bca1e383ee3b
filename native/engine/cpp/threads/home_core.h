#pragma once

#include <chrono>

namespace coll {

// Where a rank is among those of its host that may use the same cores, or of its process.
struct LocalRank {
  int number;
  int ranks;
  int cores;  // how many of the ranks can run at once

  bool has_own_core() const { return ranks <= cores; }
};

// The core that a rank comes back to where ranks share cores: each core has as many of them as the others, neighbours by number. Systems let
// three of four ranks stay on one of two cores for tenths of a second, above all after they have slept.
class HomeCore {
 public:
  explicit HomeCore(const LocalRank& local) : local_(local) {}

  // Goes there where it is elsewhere, but not too often. The thread may still use all of its cores, and the system may move it again.
  void come_back();

 private:
  const LocalRank local_;
  int core_ = -1;
  std::chrono::steady_clock::time_point came_{};
};

}  // namespace coll
