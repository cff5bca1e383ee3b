#include "../engine/control.h"

#include <gtest/gtest.h>

#include <numeric>

namespace coll::test {
namespace {

TEST(Notes, aFailureSurvivesItsEncoding) {
  for (const Failure& failure : {Failure{Reason::kDeadline, 3, {1, 2}, "did not arrive at all-reduce sum"}, Failure{Reason::kFailed, 0, {}, ""}}) {
    const Failure decoded = decode_failure(encode(failure));
    EXPECT_EQ(decoded.reason, failure.reason);
    EXPECT_EQ(decoded.rank, failure.rank);
    EXPECT_EQ(decoded.ranks, failure.ranks);
    EXPECT_EQ(decoded.text, failure.text);
  }
}

TEST(Notes, aFailureNamesAtMost64OtherRanks) {
  Failure failure{Reason::kDeadline, 0, std::vector<int>(100), "text"};
  std::iota(failure.ranks.begin(), failure.ranks.end(), 0);
  const Failure decoded = decode_failure(encode(failure));
  EXPECT_EQ(decoded.ranks.size(), kMostOtherRanks);
  EXPECT_EQ(decoded.ranks.back(), 63);
  EXPECT_EQ(decoded.text, "text");
}

TEST(Notes, aNumberSurvivesItsEncoding) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1} << 60}) EXPECT_EQ(decode_number(encode(number)), number);
}

}  // namespace
}  // namespace coll::test
