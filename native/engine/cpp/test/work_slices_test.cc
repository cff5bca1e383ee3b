#include "threads/work_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "programs.h"

namespace coll::test {
namespace {

Offer offer_of(DType dtype, int ranks, std::size_t length) {
  Offer offer{};
  offer.program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, dtype, ranks)));
  offer.length = length;
  return offer;
}

TEST(WorkSlices, CoverEveryElementOnce) {
  for (const int ranks : {1, 2, 3, 7}) {
    for (const std::size_t length : {0u, 1u, 15u, 16u, 17u, 1000u, 262144u, 9'000'001u}) {
      for (const std::size_t batch_bytes : {tuning::kBatchBytes, kOneBatch}) {
        const WorkSlices slices(offer_of(DType::kFloat32, ranks, length), batch_bytes);
        EXPECT_TRUE(batch_bytes != kOneBatch || slices.batches() == 1);
        std::size_t next = 0;
        for (std::size_t batch = 0; batch < slices.batches(); ++batch) {
          for (int rank = 0; rank < ranks; ++rank) {
            const Range slice = slices.slice(batch, rank);
            std::size_t at = slice.begin;
            for (std::size_t unit = 0; unit < slices.units(slice); ++unit) {
              EXPECT_EQ(slices.unit(slice, unit).begin, at);
              at = slices.unit(slice, unit).end;
            }
            EXPECT_EQ(at, slice.end);
            EXPECT_EQ(slice.begin, next);
            next = slice.end;
          }
        }
        EXPECT_EQ(next, length) << ranks << " ranks, " << length << " elements";
      }
    }
  }
}

TEST(WorkSlices, AreTraversedFromEitherEnd) {
  for (const std::size_t length : {0u, 17u, 65536u, 1'000'003u, 9'000'001u}) {
    const WorkSlices slices(offer_of(DType::kFloat32, 3, length));
    for (const bool from_end : {false, true}) {
      std::atomic<std::size_t> taken[3] = {};
      std::vector<Range> ranges;
      for (std::size_t batch = 0; batch < slices.batches(); ++batch) {
        for (std::atomic<std::size_t>& count : taken) count = 0;
        for (int rank = 0; rank < 3; ++rank) {
          slices.for_each_range(batch, rank, from_end, [&](int owner) -> std::atomic<std::size_t>& { return taken[owner]; },
                                [&](const Range& range) { ranges.push_back(range); });
        }
      }
      std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
      std::size_t next = 0;
      for (const Range& range : ranges) {
        if (range.begin == range.end) continue;
        EXPECT_EQ(range.begin, next);
        next = range.end;
      }
      EXPECT_EQ(next, length);
    }
  }
}

TEST(WorkSlices, CanBeInterruptedBetweenUnits) {
  const WorkSlices slices(offer_of(DType::kFloat32, 3, 9'000'001), kOneBatch);
  std::vector<std::atomic<std::size_t>> taken(3);
  const auto taken_of = [&](int owner) -> std::atomic<std::size_t>& { return taken[static_cast<std::size_t>(owner)]; };
  std::size_t length = 0;
  std::size_t visits = 0;
  std::size_t calls = 0;
  const auto visit = [&](const Range& range) {
    ++visits;
    length += range.end - range.begin;
  };
  bool is_done = false;
  for (; !is_done; ++calls) is_done = slices.for_each_range(0, 1, false, taken_of, visit, [] { return false; });
  EXPECT_EQ(length, 9'000'001u);
  EXPECT_EQ(calls, visits + 1);
}

TEST(WorkSlices, BeginAtCacheLines) {
  const WorkSlices slices(offer_of(DType::kFloat32, 3, 1000));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(slices.slice(0, rank).begin % 16, 0u);
}

TEST(WorkSlices, AreSharedWithOtherRanksOnlyIfTheyAreLarge) {
  EXPECT_FALSE(WorkSlices(offer_of(DType::kFloat32, 2, 1048576)).has_units());
  EXPECT_TRUE(WorkSlices(offer_of(DType::kFloat32, 2, 2097152)).has_units());
}

}  // namespace
}  // namespace coll::test
