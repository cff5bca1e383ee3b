#include "../threads/assigned_core.h"

#if defined(__linux__)

#include <gtest/gtest.h>
#include <sched.h>

#include <functional>
#include <thread>
#include <vector>

#include "../threads/waiting.h"

namespace coll {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

// Moves the thread to `core`. Afterwards the thread may use all cores again.
void start_on(int core, const std::vector<int>& cores) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  sched_setaffinity(0, sizeof only, &only);
  CPU_ZERO(&only);
  for (const int each : cores) CPU_SET(each, &only);
  sched_setaffinity(0, sizeof only, &only);
}

// Twice as many ranks as cores.
class AssignedCores : public testing::Test {
 protected:
  void SetUp() override {
    cores_ = allowed_cores();
    if (current_core() < 0 || cores_.size() < 2) GTEST_SKIP() << "no second core, or none known";
  }

  LocalRank local(int number) const { return {number, 2 * static_cast<int>(cores_.size()), static_cast<int>(cores_.size())}; }

  // Whether a thread that begins on `core` usually runs on `expected` after the action, in one of
  // many attempts: on a busy machine, the system moves threads as well.
  bool brings(int core, int expected, const std::function<void()>& action) const {
    for (int tries = 0; tries < 500; ++tries) {
      if (mostly_after(core, action) == expected) return true;
    }
    return false;
  }

  int mostly_after(int core, const std::function<void()>& action) const {
    std::vector<int> times(static_cast<std::size_t>(cores_.back()) + 1);
    for (int tries = 0; tries < 20; ++tries) {
      std::thread([&] {
        start_on(core, cores_);
        action();
        ++times[static_cast<std::size_t>(current_core())];
      }).join();
    }
    int most = cores_.front();
    for (const int each : cores_) {
      if (times[static_cast<std::size_t>(each)] > times[static_cast<std::size_t>(most)]) most = each;
    }
    return most;
  }

  std::vector<int> cores_;
};

TEST_F(AssignedCores, AreSharedByTheSameNumberOfRanks) {
  for (int number = 0; number < 2 * static_cast<int>(cores_.size()); ++number) {
    const int away = number < 2 ? cores_.back() : cores_.front();
    ASSERT_TRUE(brings(away, cores_[static_cast<std::size_t>(number) / 2], [&] { AssignedCore(local(number)).go_back(); })) << number;
  }
}

TEST_F(AssignedCores, AreOnlyCoresThatTheThreadMayUse) {
  std::thread([&] {
    start_on(cores_.back(), {cores_.back()});
    AssignedCore(local(0)).go_back();
    EXPECT_EQ(current_core(), cores_.back());
    EXPECT_EQ(allowed_cores(), std::vector{cores_.back()});
  }).join();
}

TEST_F(AssignedCores, DoNotRestrictTheCoresOfTheThread) {
  std::thread([&] {
    start_on(cores_.back(), cores_);
    AssignedCore(local(0)).go_back();
    EXPECT_EQ(allowed_cores(), cores_);
  }).join();
}

TEST_F(AssignedCores, AreReturnedToOnlyAfterSomeTime) {
  const auto leave = [&] { start_on(cores_.back(), cores_); };
  const auto go_back_twice = [&](Clock::duration least_stay) {
    AssignedCore assigned(local(0), least_stay);
    assigned.go_back();
    leave();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    assigned.go_back();
  };
  EXPECT_TRUE(brings(cores_.back(), cores_.back(), [&] { go_back_twice(std::chrono::hours(1)); }));
  EXPECT_TRUE(brings(cores_.back(), cores_.front(), [&] { go_back_twice(tuning::kLeastStay); }));
}

}  // namespace
}  // namespace coll

#endif
