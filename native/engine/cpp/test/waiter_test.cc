#include "../threads/waiter.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "../threads/waiting.h"

namespace coll {
namespace {

// Three ranks that share two cores.
class Spread : public testing::Test {
 protected:
  void SetUp() override {
    if (current_core() < 0 || std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "no second core, or none known";
  }

  // How many times of twenty the rank goes elsewhere when all say that they are on the core that it is on. The system may move it as well.
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

TEST_F(Spread, TheFirstRankOfACrowdedCoreGoesElsewhere) { EXPECT_GE(departures(0, 2), 15); }

TEST_F(Spread, NobodyGoesWhereRanksAreSpreadEvenly) { EXPECT_LE(departures(0, 3), 5); }

TEST_F(Spread, OfACrowdOnlyOneGoes) { EXPECT_LE(departures(1, 2), 5); }

}  // namespace
}  // namespace coll
