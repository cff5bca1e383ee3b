#include "threads/helper_limit.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tuning.h"

namespace coll::test {
namespace {

using namespace std::chrono_literals;

constexpr HelperLimit::UnitTimes kEven{20us, 10us};
constexpr HelperLimit::UnitTimes kSuspended{3ms, 10us};

class HelperLimits : public testing::Test {
 protected:
  // Runs a task that could use 16 helpers and gets as many as are allowed.
  int run(const HelperLimit::UnitTimes& times) {
    const int asked = limit_.allowed(16, now_);
    limit_.learn(asked, asked, times, now_);
    return asked;
  }

  HelperLimit limit_;
  Clock::time_point now_{1h};
};

TEST_F(HelperLimits, AllowOneHelperAtFirst) {
  EXPECT_EQ(limit_.allowed(0, now_), 0);
  EXPECT_EQ(limit_.allowed(1, now_), 1);
}

TEST_F(HelperLimits, GrowByOneWithEachTask) {
  for (int helpers = 2; helpers <= 16; ++helpers) EXPECT_EQ(run(kEven), helpers);
  EXPECT_EQ(run(kEven), 16);
  EXPECT_EQ(limit_.allowed(3, now_), 3);
}

TEST_F(HelperLimits, AreHalvedWhenThreadsWereSuspended) {
  for (int helpers = 2; helpers <= 16; ++helpers) run(kEven);
  run(kSuspended);
  EXPECT_EQ(limit_.allowed(16, now_), 8);
  run(kSuspended);
  run(kSuspended);
  run(kSuspended);
  run(kSuspended);
  EXPECT_EQ(limit_.allowed(16, now_), 1);
}

TEST_F(HelperLimits, DoNotGrowForATimeThatDoubles) {
  for (auto pause = tuning::kLeastPause; pause <= 6400ms; pause *= 2) {
    EXPECT_EQ(run(kSuspended), 2);
    now_ += pause - 1ms;
    EXPECT_EQ(run(kEven), 1);
    now_ += 1ms;
  }
  EXPECT_EQ(run(kSuspended), 2);
  now_ += tuning::kLongestPause;
  EXPECT_EQ(run(kEven), 2);
  EXPECT_EQ(run(kEven), 3);
}

TEST_F(HelperLimits, DoNotGrowWithAHelperThatDoesNotBegin) {
  limit_.learn(2, 1, kEven, now_);
  EXPECT_EQ(limit_.allowed(16, now_), 1);
  EXPECT_EQ(limit_.allowed(16, now_ + tuning::kLeastPause), 2);
}

TEST_F(HelperLimits, DoNotTakeUnitsThatAreAllLongForSuspended) {
  EXPECT_EQ(run({3ms, 1ms}), 2);
  EXPECT_EQ(run(kEven), 3);
}

TEST_F(HelperLimits, LearnNothingFromTasksWithOneHelper) {
  limit_.learn(1, 1, kSuspended, now_);
  EXPECT_EQ(limit_.allowed(16, now_), 2);
}

}  // namespace
}  // namespace coll::test
