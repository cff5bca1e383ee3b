#include "../threads/waiter.h"

#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
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

TEST(Presence, IsPublishedIfRanksShareCores) {
  std::atomic<int> core{0};
  std::atomic<std::uint32_t> parked{0};
  const std::atomic<std::int32_t> failure{0};
  if (current_core() < 0) GTEST_SKIP() << "this system does not tell cores";
  Waiter sharing({core, parked}, kSharing, failure, Reach::kProcess);
  // It may be moved in between.
  bool are_alike = false;
  for (int tries = 0; tries < 20 && !are_alike; ++tries) {
    sharing.publish_core();
    are_alike = core == sharing.shared_core();
  }
  EXPECT_TRUE(are_alike);
  EXPECT_GT(core, 0);
  EXPECT_EQ(Waiter({core, parked}, {0, 1, 1}, failure, Reach::kProcess).shared_core(), 0);
}

#if defined(__linux__)

// Another waiting rank on the core that it leaves would follow it, and both would share a core
// again.
TEST(Presence, IsClearedWhileARankMovesToAnotherCore) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "no second core";
  std::atomic<int> core{0};
  std::atomic<int> core_of_other{0};
  std::atomic<std::uint32_t> parked{0};
  std::atomic<std::uint32_t> word{0};
  const std::atomic<std::int32_t> failure{0};
  std::atomic<bool> has_ended{false};
  std::atomic<bool> was_nowhere{false};
  std::thread watcher([&] {
    while (!has_ended) {
      if (core_of_other != 0 && core == 0) was_nowhere = true;
    }
  });
  bool has_gone = false;
  for (int tries = 0; tries < 2000 && !(was_nowhere && has_gone); ++tries) {
    Waiter waiter({core, parked}, {0, 2, 2}, failure, Reach::kProcess);
    const int before = current_core() + 1;
    core = core_of_other = before;
    waiter.await(word, 1, {core_of_other, parked}, {1, 1, 0});
    has_gone = has_gone || core != before;
  }
  has_ended = true;
  watcher.join();
  EXPECT_TRUE(was_nowhere);
  EXPECT_TRUE(has_gone);
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
  std::atomic<std::uint32_t> none{0};
  std::atomic<int> core{0};
  const std::atomic<std::int32_t> failure{0};
  std::atomic<bool> is_over{false};
  // Beside so many busy threads, a yield takes long.
  std::vector<std::thread> busy;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    busy.emplace_back([&] {
      while (!is_over) pause();
    });
  }
  const std::uint64_t usual = time_slice_nanos();
  std::thread([&] {
    auto waiter = std::make_unique<Waiter>(Presence{core, none}, kSharing, failure, Reach::kProcess);
    std::atomic<std::uint32_t> word{0};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (time_slice_nanos() == usual && std::chrono::steady_clock::now() < end) waiter->await(word, 1, {core, none}, waiter->blocking(0));
    EXPECT_LT(time_slice_nanos(), usual);
    waiter.reset();
    EXPECT_EQ(time_slice_nanos(), usual);
  }).join();
  is_over = true;
  for (std::thread& thread : busy) thread.join();
}

TEST(Waiting, EndsForASleepingThreadWhenTheWordIsPublished) {
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::uint32_t> parked{0};
  std::atomic<std::uint32_t> none{0};
  std::atomic<int> core{0};
  const std::atomic<std::int32_t> failure{0};
  const Presence owner{core, parked};
  std::thread sleeper([&] {
    Waiter waiter({core, none}, kSharing, failure, Reach::kProcess);
    while (!waiter.await(word, 1, owner, waiter.blocking(1'000'000))) {
    }
  });
  while (parked == 0) yield();
  Waiter({core, none}, kSharing, failure, Reach::kProcess).publish_for(owner, word, 1);
  sleeper.join();
}

void stay_on(int core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  sched_setaffinity(0, sizeof only, &only);
}

// A rank that continues to yield would wait for a time slice of the other program hundreds of
// times.
TEST(Waiting, SleepsSoonWhileAnotherProgramComputes) {
  using std::chrono::milliseconds;
  std::atomic<bool> is_busy{false};
  std::atomic<bool> has_ended{false};
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::uint32_t> parked{0};
  std::atomic<int> core{0};
  const std::atomic<std::int32_t> failure{0};
  std::atomic<Clock::duration> fifty_yields{Clock::duration::zero()};
  const int shared = current_core();
  std::thread program([&] {
    stay_on(shared);
    is_busy = true;
    while (!has_ended) {
    }
  });
  while (!is_busy) std::this_thread::sleep_for(milliseconds(1));
  std::thread rank([&] {
    stay_on(shared);
    const auto begin = Clock::now();
    for (int i = 0; i < 50; ++i) yield();
    fifty_yields = Clock::now() - begin;
    Waiter waiter({core, parked}, kSharing, failure, Reach::kProcess);
    while (!waiter.await(word, 1, {core, parked}, waiter.blocking(5000))) {
    }
  });
  while (fifty_yields.load() == Clock::duration::zero()) std::this_thread::sleep_for(milliseconds(1));
  const bool is_slow = fifty_yields.load() > milliseconds(20);
  const auto limit = Clock::now() + fifty_yields.load();
  while (parked == 0 && Clock::now() < limit) std::this_thread::sleep_for(milliseconds(1));
  const std::uint32_t sleepers = parked;
  Waiter({core, parked}, kSharing, failure, Reach::kProcess).publish(word, 1);
  rank.join();
  has_ended = true;
  program.join();
  if (!is_slow) GTEST_SKIP() << "this system soon gives the core back";
  EXPECT_EQ(sleepers, 1u);
}

#endif

}  // namespace
}  // namespace coll
