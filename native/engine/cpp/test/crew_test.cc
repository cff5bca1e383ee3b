#include "threads/crew.h"

#include <gtest/gtest.h>

#include <numeric>

namespace coll::test {
namespace {

TEST(Crew, DoesEverythingOnce) {
  Crew crew(3);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t count = static_cast<std::size_t>(round % 97);
    std::vector<int> done(count);
    const auto work = [](void* context, int worker, std::size_t begin, std::size_t end) {
      EXPECT_LT(worker, 4);
      for (std::size_t i = begin; i < end; ++i) ++static_cast<int*>(context)[i];
    };
    crew.run({work, done.data(), count, 5});
    EXPECT_EQ(std::accumulate(done.begin(), done.end(), std::size_t{0}), count);
  }
}

TEST(Crew, WorksWithoutHelpers) {
  Crew crew(0);
  int calls = 0;
  crew.run({[](void* context, int, std::size_t, std::size_t) { ++*static_cast<int*>(context); }, &calls, 10, 3});
  EXPECT_EQ(calls, 4);
}

TEST(Crew, EndsWhetherItHasWorkedOrNot) {
  { Crew idle(2); }
  Crew crew(2);
  int sum = 0;
  crew.run({[](void*, int, std::size_t, std::size_t) {}, &sum, 1, 1});
}

}  // namespace
}  // namespace coll::test
