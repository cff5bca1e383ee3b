#if defined(__linux__)

#include <gtest/gtest.h>
#include <sched.h>

#include "shared_cases.h"
#include "shared_group.h"

namespace coll::test {
namespace {

using std::chrono::microseconds;

void stay_here() {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &only);
  sched_setaffinity(0, sizeof only, &only);
}

// A rank's part of a sum of `length` elements, in its arena.
struct Part {
  Part(SharedRank& rank, std::size_t length) : self(rank) {
    sum.program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, DType::kFloat32, rank.ranks)));
    sum.begins = {0, length};
    sum.seed = static_cast<unsigned>(length);
    const std::vector<std::byte> input = input_of(sum, rank.rank);
    values = self.memory->allocate(input.size());
    std::copy(input.begin(), input.end(), values);
    offer.program = sum.program;
    offer.length = length;
    offer.begins = sum.begins;
    offer.buffers = {{values}, {values}};
    offer.fingerprint = length;
  }
  // Executes with a patience of a single look at the other ranks.
  Status execute(microseconds time_slice = kLongestTimeSlice) { return self.executor->execute(offer, microseconds(0), time_slice); }
  bool is_right() const {
    return has_bytes(values, expected(sum, self.rank));
  }

  SharedRank& self;
  SharedCase sum;
  Offer offer{};
  std::byte* values;
};

// Ranks that take turns in one thread, and therefore on one core.
void on_one_core(int ranks, void (*work)(std::vector<SharedRank>&)) {
  SharedNotices notices;
  std::thread([&] {
    stay_here();
    std::vector<std::shared_ptr<Segment>> segments;
    for (int rank = 0; rank < ranks; ++rank) segments.push_back(Segment::create(kArenaForTests));
    std::vector<SharedRank> members;
    for (int rank = 0; rank < ranks; ++rank) members.push_back(join(*notices, rank, segments, 1));
    work(members);
  }).join();
}

TEST(SharedHelp, ExecutesTheStepsOfRanksThatWaitForTheCore) {
  on_one_core(3, [](std::vector<SharedRank>& ranks) {
    Part first[] = {{ranks[0], 9'000}, {ranks[1], 9'000}, {ranks[2], 9'000}};
    Part second[] = {{ranks[0], 8'000}, {ranks[1], 8'000}, {ranks[2], 8'000}};
    EXPECT_EQ(first[0].execute(), Status::kWaiting);
    EXPECT_EQ(first[1].execute(), Status::kWaiting);
    EXPECT_EQ(first[2].execute(), Status::kDone);
    // Rank 2 has announced its next collective before the other ranks have returned.
    EXPECT_EQ(second[2].execute(), Status::kWaiting);
    EXPECT_EQ(first[1].execute(), Status::kDone);
    EXPECT_EQ(second[1].execute(), Status::kWaiting);
    EXPECT_EQ(first[0].execute(), Status::kDone);
    EXPECT_EQ(second[0].execute(), Status::kDone);
    EXPECT_EQ(second[1].execute(), Status::kDone);
    EXPECT_EQ(second[2].execute(), Status::kDone);
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(first[rank].is_right() && second[rank].is_right()) << rank;
  });
}

// A length at which ranks take units from each other.
constexpr std::size_t kLargeLength = 1'500'000;

TEST(SharedHelp, FinishesTheUnitsOfRanksThatWaitForTheCore) {
  on_one_core(3, [](std::vector<SharedRank>& ranks) {
    Part parts[] = {{ranks[0], kLargeLength}, {ranks[1], kLargeLength}, {ranks[2], kLargeLength}};
    EXPECT_EQ(parts[0].execute(), Status::kWaiting);
    EXPECT_EQ(parts[1].execute(), Status::kWaiting);
    EXPECT_EQ(parts[2].execute(microseconds(0)), Status::kSlice);
    EXPECT_EQ(parts[0].execute(), Status::kWaiting);
    EXPECT_EQ(parts[1].execute(), Status::kWaiting);
    EXPECT_EQ(parts[2].execute(), Status::kDone);
    EXPECT_EQ(parts[1].execute(), Status::kDone);
    EXPECT_EQ(parts[0].execute(), Status::kDone);
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(parts[rank].is_right()) << rank;
  });
}

TEST(SharedHelp, DoesNotAffectTheNextCollective) {
  on_one_core(2, [](std::vector<SharedRank>& ranks) {
    for (const std::size_t length : {2 * kLargeLength, std::size_t{9'000}, 3 * kLargeLength, 2 * kLargeLength + 1}) {
      Part parts[] = {{ranks[0], length}, {ranks[1], length}};
      EXPECT_EQ(parts[0].execute(), Status::kWaiting);
      EXPECT_EQ(parts[1].execute(), Status::kDone);
      EXPECT_EQ(parts[0].execute(), Status::kDone);
      for (const Part& part : parts) EXPECT_TRUE(part.is_right()) << length;
    }
  });
}

TEST(SharedHelp, IsNotGivenToRanksThatMakeAnotherCall) {
  on_one_core(2, [](std::vector<SharedRank>& ranks) {
    Part one(ranks[0], 9'000);
    Part other(ranks[1], 8'000);
    EXPECT_EQ(one.execute(), Status::kWaiting);
    EXPECT_EQ(other.execute(), Status::kDisagreed);
    EXPECT_EQ(one.execute(), Status::kDisagreed);
  });
}

}  // namespace
}  // namespace coll::test

#endif
