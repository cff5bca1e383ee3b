#include "threads/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "clock.h"

namespace coll::test {
namespace {

TEST(ThreadPool, ExecutesEveryTaskOnce) {
  ThreadPool pool(3);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t count = static_cast<std::size_t>(round % 97);
    std::vector<int> done(count);
    const auto work = [](void* context, int worker, std::size_t begin, std::size_t end) {
      EXPECT_LT(worker, 4);
      for (std::size_t i = begin; i < end; ++i) ++static_cast<int*>(context)[i];
    };
    pool.run({work, done.data(), count, 5});
    EXPECT_EQ(std::accumulate(done.begin(), done.end(), std::size_t{0}), count);
  }
}

TEST(ThreadPool, WorksWithoutHelpers) {
  ThreadPool pool(0);
  int calls = 0;
  pool.run({[](void* context, int, std::size_t, std::size_t) { ++*static_cast<int*>(context); }, &calls, 10, 3});
  EXPECT_EQ(calls, 4);
}

// A helper that is not woken starts after a second.
TEST(ThreadPool, WakesItsHelpers) {
  ThreadPool pool(1);
  const auto begin = Clock::now();
  for (int round = 0; round < 10; ++round) {
    // Helpers that have nothing to do fall asleep in less.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<bool> is_helped{false};
    const auto work = [](void* context, int worker, std::size_t, std::size_t) {
      auto& helped = *static_cast<std::atomic<bool>*>(context);
      if (worker > 0) helped = true;
      while (!helped) std::this_thread::yield();
    };
    pool.run({work, &is_helped, 2, 1});
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

TEST(ThreadPool, EndsWithOrWithoutEarlierWork) {
  { ThreadPool idle(2); }
  ThreadPool pool(2);
  int sum = 0;
  pool.run({[](void*, int, std::size_t, std::size_t) {}, &sum, 1, 1});
}

}  // namespace
}  // namespace coll::test
