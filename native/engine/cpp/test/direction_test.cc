#include "threads/direction.h"

#include <gtest/gtest.h>

#include <array>

namespace coll::test {
namespace {

class Directions : public testing::Test {
 protected:
  bool call() {
    direction_.choose(begin());
    direction_.leave(begin());
    return direction_.is_from_end();
  }
  const std::byte* begin() const { return reinterpret_cast<const std::byte*>(values_.data()); }

  std::array<float, 2> values_{1, 2};
  Direction direction_;
};

TEST_F(Directions, StartsAtTheEndOfBuffersThatTheCallerRewrote) {
  for (int i = 0; i < 4; ++i) {
    values_[1] += 1;
    EXPECT_TRUE(call());
  }
}

TEST_F(Directions, AlternatesIfTheCallerWroteNothing) {
  EXPECT_TRUE(call());
  EXPECT_FALSE(call());
  EXPECT_TRUE(call());
  EXPECT_FALSE(call());
  values_[0] = 7;
  EXPECT_TRUE(call());
}

TEST_F(Directions, AlternatesIfOnlyTheCallWrote) {
  for (const bool is_from_end : {true, false, true}) {
    direction_.choose(begin());
    EXPECT_EQ(direction_.is_from_end(), is_from_end);
    values_[0] += 1;
    direction_.leave(begin());
  }
}

TEST_F(Directions, AlternatesIfWritesAreUnknown) {
  for (const bool is_from_end : {true, false, true, false}) {
    direction_.choose(nullptr);
    EXPECT_EQ(direction_.is_from_end(), is_from_end);
    direction_.leave(nullptr);
  }
}

}  // namespace
}  // namespace coll::test
