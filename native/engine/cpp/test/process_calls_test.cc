#include "processes/calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace coll::test {
namespace {

State state_of(std::uint64_t number) {
  State state;
  state.fill(static_cast<double>(number));
  return state;
}

TEST(Calls, CountsTheCallsThatHaveBegun) {
  Calls calls;
  EXPECT_EQ(calls.current(), 0u);
  EXPECT_TRUE(calls.begin(state_of(0)));
  EXPECT_EQ(calls.current(), 0u);
  calls.end();
  EXPECT_EQ(calls.current(), 1u);
}

TEST(Calls, RemembersTheLatestCalls) {
  Calls calls;
  for (std::uint64_t number = 0; number < 40; ++number) {
    calls.begin(state_of(number));
    calls.end();
  }
  EXPECT_TRUE(calls.answer(39).is_known);
  EXPECT_EQ(calls.answer(25).state, state_of(25));
  // The next call may be overwriting this state.
  EXPECT_FALSE(calls.answer(24).is_known);
  EXPECT_FALSE(calls.answer(3).is_known);
  EXPECT_TRUE(calls.answer(3).has_come());
  EXPECT_FALSE(calls.answer(40).has_come());
}

TEST(Calls, BeginsNoCallAfterTheLastCallOfALeaver) {
  Calls calls;
  EXPECT_FALSE(calls.leave_after(1));
  EXPECT_TRUE(calls.begin(state_of(0)));
  EXPECT_FALSE(calls.is_forsaken());
  calls.end();
  EXPECT_FALSE(calls.begin(state_of(1)));
  EXPECT_EQ(calls.current(), 1u);
}

TEST(Calls, DetectsACallThatWaitsForAMemberThatLeft) {
  Calls calls;
  calls.begin(state_of(0));
  EXPECT_FALSE(calls.is_forsaken());
  EXPECT_TRUE(calls.leave_after(0));
  EXPECT_TRUE(calls.is_forsaken());
  calls.end();
  EXPECT_FALSE(calls.is_forsaken());
}

TEST(Calls, NeverMixesTwoCallsInAnAnswer) {
  Calls calls;
  std::atomic<bool> is_over{false};
  std::thread executor([&] {
    for (std::uint64_t number = 0; !is_over; ++number) {
      calls.begin(state_of(number));
      calls.end();
    }
  });
  std::uint64_t wrong = 0;
  for (int look = 0; look < 100'000; ++look) {
    const std::uint64_t begun = calls.current();
    // Includes states that are about to be overwritten.
    for (std::uint64_t back = 1; back <= 16 && back <= begun; ++back) {
      const Answer answer = calls.answer(begun - back);
      if (answer.is_known && answer.state != state_of(begun - back)) ++wrong;
    }
  }
  is_over = true;
  executor.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace coll::test
