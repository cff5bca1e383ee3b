#include "../threads/waiter.h"

#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "../threads/waiting.h"

namespace coll {
namespace {

constexpr LocalRank kSharing{0, 2, 1};
constexpr LocalRank kAlone{0, 2, 2};
// Time limit for events that happen at once on an idle machine.
constexpr std::chrono::seconds kLimit{100};

// The shared state of a group.
class Group {
 public:
  explicit Group(int ranks) : words_(static_cast<std::size_t>(ranks)), cores_(static_cast<std::size_t>(ranks)) {}

  std::unique_ptr<Waiter> join(int rank, const LocalRank& local) {
    return std::make_unique<Waiter>(rank, pointers_to<Cores>(cores_), Gate{openings, sleepers}, local, failure, Reach::kProcess);
  }
  Words words() { return pointers_to<Words>(words_); }
  std::atomic<int>& core(int rank) { return cores_[static_cast<std::size_t>(rank)]; }

  std::atomic<std::uint32_t> openings{0};
  std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::int32_t> failure{0};

 private:
  template <class Pointers, class Values>
  static Pointers pointers_to(Values& values) {
    Pointers pointers;
    for (auto& value : values) pointers.push_back(&value);
    return pointers;
  }

  std::vector<std::atomic<std::uint32_t>> words_;
  std::vector<std::atomic<int>> cores_;
};

TEST(Core, IsPublishedIfRanksShareCores) {
  if (current_core() < 0) GTEST_SKIP() << "this system does not tell cores";
  Group group(2);
  const auto sharing = group.join(0, kSharing);
  // The system may move the thread between the two reads.
  bool are_alike = false;
  for (int tries = 0; tries < 20 && !are_alike; ++tries) {
    sharing->publish_core();
    are_alike = group.core(0) == sharing->shared_core();
  }
  EXPECT_TRUE(are_alike);
  EXPECT_GT(group.core(0), 0);
  EXPECT_EQ(group.join(1, kAlone)->shared_core(), 0);
}

#if defined(__linux__)

bool has_two_cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) >= 2;
}

// Another waiting rank on the same core would also move to the new core, and both would share a
// core again.
TEST(Core, IsClearedWhileARankMovesToAnotherCore) {
  if (!has_two_cores()) GTEST_SKIP() << "no second core";
  Group group(2);
  std::atomic<bool> has_ended{false};
  std::atomic<bool> was_nowhere{false};
  std::thread watcher([&] {
    while (!has_ended) {
      if (group.core(1) != 0 && group.core(0) == 0) was_nowhere = true;
    }
  });
  bool has_gone = false;
  const auto limit = Clock::now() + kLimit;
  while (!(was_nowhere && has_gone) && Clock::now() < limit) {
    const auto waiter = group.join(0, kAlone);
    const int before = current_core() + 1;
    group.core(0) = group.core(1) = before;
    waiter->await_all(group.words(), 1, {1, 1, 0});
    has_gone = has_gone || group.core(0) != before;
  }
  has_ended = true;
  watcher.join();
  EXPECT_TRUE(was_nowhere);
  EXPECT_TRUE(has_gone);
}

// For example, in a group whose ranks have fewer cores than the system reports.
TEST(SharedCore, IsLearnedByARankThatMeetsOthersOnEveryCore) {
  if (current_core() < 0) GTEST_SKIP() << "this system does not tell cores";
  Group group(2);
  const auto waiter = group.join(0, kAlone);
  EXPECT_FALSE(waiter->shares_core());
  const auto end = Clock::now() + kLimit;
  while (!waiter->shares_core() && Clock::now() < end) {
    group.core(1) = current_core() + 1;
    waiter->await_all(group.words(), 1, {1, 1, 0});
  }
  EXPECT_TRUE(waiter->shares_core());
  group.core(1) = 0;
  while (waiter->shares_core() && Clock::now() < end) waiter->publish_core();
  EXPECT_FALSE(waiter->shares_core());
}

// The first words of the system's sched_attr.
struct Attributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t others[2];
};

std::uint64_t time_slice_nanos() {
  Attributes own{};
  return syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) == 0 ? own.runtime : 0;
}

TEST(TimeSlices, AreShortenedOnlyInTheRequestingThread) {
  if (time_slice_nanos() == 0) GTEST_SKIP() << "this system does not let threads choose";
  const std::uint64_t usual = time_slice_nanos();
  std::uint64_t own = 0;
  std::uint64_t of_child = 0;
  std::uint64_t again = 1;
  std::uint64_t afterwards = 0;
  std::thread([&] {
    const std::uint64_t before = take_short_time_slices();
    EXPECT_EQ(before, usual);
    own = time_slice_nanos();
    std::thread([&] { of_child = time_slice_nanos(); }).join();
    again = take_short_time_slices();
    restore_time_slice(before);
    afterwards = time_slice_nanos();
  }).join();
  EXPECT_EQ(own, 100'000u);
  EXPECT_EQ(again, 0u);
  EXPECT_EQ(afterwards, usual);
  EXPECT_GT(of_child, own);
  EXPECT_EQ(time_slice_nanos(), usual);
}

TEST(TimeSlices, AreRestoredWhenAWaiterEnds) {
  if (time_slice_nanos() == 0) GTEST_SKIP() << "this system does not let threads choose";
  Group group(2);
  std::atomic<bool> is_over{false};
  // Busy threads, beside which a yield takes long.
  std::vector<std::thread> busy;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    busy.emplace_back([&] {
      while (!is_over) pause();
    });
  }
  const std::uint64_t usual = time_slice_nanos();
  std::thread([&] {
    auto waiter = group.join(0, kSharing);
    const auto end = Clock::now() + kLimit;
    while (time_slice_nanos() == usual && Clock::now() < end) waiter->await_all(group.words(), 1, waiter->blocking(0));
    EXPECT_LT(time_slice_nanos(), usual);
    waiter.reset();
    EXPECT_EQ(time_slice_nanos(), usual);
  }).join();
  is_over = true;
  for (std::thread& thread : busy) thread.join();
}

TEST(Waiting, EndsForASleepingRankWhenTheLastRankArrives) {
  Group group(3);
  const auto other = group.join(1, kSharing);
  std::thread sleeper([&] {
    const auto waiter = group.join(0, kSharing);
    waiter->publish(group.words(), 0, 1);
    while (!waiter->await_all(group.words(), 1, waiter->blocking(1'000'000))) {
    }
  });
  while (group.sleepers == 0) yield();
  other->publish(group.words(), 1, 1);
  EXPECT_EQ(group.openings, 0u);
  // Publishes the arrival of another rank, whose work this one has done.
  other->publish(group.words(), 2, 1);
  EXPECT_EQ(group.openings, 1u);
  sleeper.join();
  EXPECT_EQ(group.sleepers, 0u);
}

void stay_on(int core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  sched_setaffinity(0, sizeof only, &only);
}

// How often the system has given the core of the calling thread to another one.
long switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

// A rank that continues to yield would wait for a time slice of the other program hundreds of
// times.
TEST(Waiting, SleepsSoonWhileAnotherProgramComputes) {
  std::atomic<bool> is_busy{false};
  std::atomic<bool> has_ended{false};
  Group group(2);
  int long_yields = 0;
  long while_waiting = 0;
  const int shared = current_core();
  std::thread program([&] {
    stay_on(shared);
    is_busy = true;
    while (!has_ended) {
    }
  });
  while (!is_busy) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread rank([&] {
    stay_on(shared);
    for (int i = 0; i < 50; ++i) {
      const auto begin = Clock::now();
      yield();
      if (Clock::now() - begin >= tuning::kLongYield) ++long_yields;
    }
    const auto waiter = group.join(0, kSharing);
    waiter->publish(group.words(), 0, 1);
    const long before = switches();
    while (!waiter->await_all(group.words(), 1, waiter->blocking(1'000'000))) {
    }
    while_waiting = switches() - before;
  });
  const auto limit = Clock::now() + kLimit;
  while (group.sleepers == 0 && Clock::now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(group.sleepers, 1u);
  group.join(1, kSharing)->publish(group.words(), 1, 1);
  rank.join();
  has_ended = true;
  program.join();
  if (long_yields < 10) GTEST_SKIP() << "this system soon gives the core back";
  EXPECT_LT(while_waiting, 50);
}

#endif

}  // namespace
}  // namespace coll
