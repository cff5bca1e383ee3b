#include "threads/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "clock.h"
#include "tuning.h"

namespace coll::test {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 30;

// Counts how often each element is executed.
void run_counting(Crew& crew, SharedJob& job, std::size_t count, std::size_t bytes) {
  std::vector<int> done(count);
  const auto work = [](void* context, int, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++static_cast<std::vector<int>*>(context)->at(i);
  };
  crew.run({work, &done, count, 5, bytes}, job);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(done[i], 1);
}

TEST(Crew, ExecutesEveryTaskOnce) {
  Crew crew;
  SharedJob job(4);
  for (std::size_t round = 0; round < 2000; ++round) run_counting(crew, job, round % 97, round % 2 == 0 ? kLarge : 1);
  EXPECT_GE(crew.helpers(), 1);
  EXPECT_LE(crew.helpers(), 3);
}

TEST(Crew, WorksWithoutHelpers) {
  Crew crew;
  SharedJob job(1);
  int calls = 0;
  crew.run({[](void* context, int, std::size_t, std::size_t) { ++*static_cast<int*>(context); }, &calls, 10, 3, kLarge}, job);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(crew.helpers(), 0);
}

TEST(Crew, StartsNoHelperForLittleWork) {
  Crew crew;
  SharedJob job(4);
  run_counting(crew, job, 10, 1000);
  run_counting(crew, job, 5, kLarge);  // a single unit
  EXPECT_EQ(crew.helpers(), 0);
}

TEST(Crew, StartsAHelperForLittleWorkOnlyIfTasksFollowClosely) {
  Crew crew;
  SharedJob job(2);
  const auto run = [&] { run_counting(crew, job, 10, tuning::kHotBytesPerHelper); };
  for (int round = 0; round < 20; ++round) {
    run();
    const auto end = Clock::now() + 2 * tuning::kCloselyFollowing;
    while (Clock::now() < end) continue;
  }
  EXPECT_EQ(crew.helpers(), 0);
  const auto end = Clock::now() + std::chrono::seconds(100);
  while (crew.helpers() == 0 && Clock::now() < end) run();
  EXPECT_EQ(crew.helpers(), 1);
}

// Runs a task whose first unit, which the owner executes, ends only after a helper has begun.
void run_with_helper(Crew& crew, SharedJob& job) {
  std::atomic<bool> is_helped{false};
  const auto work = [](void* context, int worker, std::size_t, std::size_t) {
    auto& helped = *static_cast<std::atomic<bool>*>(context);
    if (worker > 0) helped = true;
    while (!helped) std::this_thread::yield();
  };
  crew.run({work, &is_helped, 2, 1, kLarge}, job);
}

// A helper that is not woken begins after a thousand seconds.
TEST(Crew, WakesItsHelpers) {
  Crew crew;
  SharedJob job(2);
  const auto begin = Clock::now();
  for (int round = 0; round < 10; ++round) {
    // Idle helpers fall asleep in less time.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    run_with_helper(crew, job);
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(100));
}

TEST(Crew, ServesSeveralOwnersAtTheSameTime) {
  const std::shared_ptr<Crew> crew = Crew::of_process();
  std::vector<std::thread> owners;
  for (int owner = 0; owner < 3; ++owner) {
    owners.emplace_back([&crew] {
      SharedJob job(4);
      for (std::size_t round = 0; round < 500; ++round) run_counting(*crew, job, round % 97, kLarge);
    });
  }
  for (std::thread& owner : owners) owner.join();
  // Each owner asks for three helpers, which other owners may not have given back yet.
  EXPECT_LE(crew->helpers(), 3 * 3);
}

TEST(Crew, IsOnePerProcessAndEndsWithItsLastOwner) {
  std::shared_ptr<Crew> first = Crew::of_process();
  std::shared_ptr<Crew> second = Crew::of_process();
  EXPECT_EQ(first, second);
  SharedJob job(2);
  run_with_helper(*first, job);
  const std::weak_ptr<Crew> crew = first;
  first.reset();
  EXPECT_EQ(second->helpers(), 1);
  second.reset();
  EXPECT_TRUE(crew.expired());
}

}  // namespace
}  // namespace coll::test
