#include "../threads/crowding.h"

#include <gtest/gtest.h>

#include "../tuning.h"

namespace coll {
namespace {

using tuning::kLeastPause;
using tuning::kMostMeetings;
using tuning::kSoonAgain;

class Crowdings : public testing::Test {
 protected:
  void meet(int times, Clock::duration apart) {
    for (int i = 0; i < times; ++i) crowding_.meet(now_ += apart);
  }
  void review(bool is_shared) { crowding_.review(now_, is_shared); }

  Crowding crowding_{false};
  Clock::time_point now_ = Clock::now();
};

TEST(Crowding, IsCertainWithFewerCoresThanRanks) {
  EXPECT_TRUE(Crowding(true).is_crowded());
  EXPECT_FALSE(Crowding(true).is_learned());
  EXPECT_FALSE(Crowding(false).is_crowded());
}

TEST_F(Crowdings, IsLearnedFromMeetingsInQuickSuccession) {
  meet(kMostMeetings - 1, kSoonAgain / 2);
  EXPECT_FALSE(crowding_.is_crowded());
  meet(1, kSoonAgain / 2);
  EXPECT_TRUE(crowding_.is_crowded());
  EXPECT_TRUE(crowding_.is_learned());
}

// Systems sometimes put two ranks on one core although there are enough cores.
TEST_F(Crowdings, IsNotLearnedFromMeetingsNowAndThen) {
  meet(10 * kMostMeetings, kSoonAgain);
  EXPECT_FALSE(crowding_.is_crowded());
}

TEST_F(Crowdings, IsReviewedAfterAWhile) {
  meet(kMostMeetings, kSoonAgain / 2);
  now_ += kLeastPause / 2;
  review(false);
  EXPECT_TRUE(crowding_.is_crowded());
  now_ += kLeastPause / 2;
  review(false);
  EXPECT_FALSE(crowding_.is_crowded());
}

TEST_F(Crowdings, IsReviewedLessOftenAsLongAsItLasts) {
  meet(kMostMeetings, kSoonAgain / 2);
  now_ += kLeastPause;
  review(true);
  now_ += kLeastPause;
  review(false);
  EXPECT_TRUE(crowding_.is_crowded());
  now_ += kLeastPause;
  review(false);
  EXPECT_FALSE(crowding_.is_crowded());
}

}  // namespace
}  // namespace coll
