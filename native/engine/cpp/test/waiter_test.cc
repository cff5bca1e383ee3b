#include "../threads/waiter.h"

#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <array>
#include <atomic>

#include "../threads/waiting.h"

namespace coll {
namespace {

// Fewer than the machine has where somebody has said so.
int allowed_cores() {
#if defined(__linux__)
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
#else
  return 0;
#endif
}

// Three ranks that share two cores.
class Spread : public testing::Test {
 protected:
  void SetUp() override {
    if (current_core() < 0 || allowed_cores() < 2) GTEST_SKIP() << "no second core, or none known";
  }

  // Whether so many times of twenty are met in one of some tries. The system may move the rank as well, on a busy machine often.
  bool departs(int rank, int most, int least_times, int most_times) {
    for (int tries = 0; tries < 20; ++tries) {
      const int times = departures(rank, most);
      if (times >= least_times && times <= most_times) return true;
    }
    return false;
  }

  // How many times of twenty the rank goes elsewhere when all say that they are on the core that it is on.
  int departures(int rank, int most) {
    int count = 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
      Waiter waiter({cores_[static_cast<std::size_t>(rank)], parked_}, false, failure_, Reach::kProcess);
      const int before = current_core() + 1;
      for (std::atomic<int>& core : cores_) core = before;
      waiter.spread_out(rank, static_cast<int>(cores_.size()), most, [this](int other) -> const std::atomic<int>& {
        return cores_[static_cast<std::size_t>(other)];
      });
      count += cores_[static_cast<std::size_t>(rank)] != before;
    }
    return count;
  }

  std::array<std::atomic<int>, 3> cores_{};
  std::atomic<std::uint32_t> parked_{0};
  std::atomic<std::int32_t> failure_{0};
};

TEST_F(Spread, TheFirstRankOfACrowdedCoreGoesElsewhere) { EXPECT_TRUE(departs(0, 2, 15, 20)); }

TEST_F(Spread, NobodyGoesWhereRanksAreSpreadEvenly) { EXPECT_TRUE(departs(0, 3, 0, 5)); }

TEST_F(Spread, OfACrowdOnlyOneGoes) { EXPECT_TRUE(departs(1, 2, 0, 5)); }

}  // namespace
}  // namespace coll
