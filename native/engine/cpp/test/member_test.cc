#include "threads/member.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>

#include "programs.h"
#include "test_grid.h"

namespace coll::test {
namespace {

using Floats = std::vector<float>;

// The shared state of a group.
class Table {
 public:
  explicit Table(int ranks) : memory_(Board::bytes_for(ranks)), words_(static_cast<std::size_t>(ranks) * 32 + 1), ranks_(ranks) {}

  std::unique_ptr<Member> join(int rank, int cores) {
    std::atomic<std::int32_t>* arrival = &words_[1 + static_cast<std::size_t>(rank) * 32];
    return std::make_unique<Member>(Board::in(memory_.data()), Control{&words_[0], arrival, arrival + 1}, rank, ranks_, cores);
  }
  void fail() { words_[0].store(2); }
  std::int32_t arrived(int rank) const { return words_[1 + static_cast<std::size_t>(rank) * 32].load(); }
  void count_sleeper(int rank, int change) { words_[2 + static_cast<std::size_t>(rank) * 32].fetch_add(change); }

 private:
  std::vector<std::byte> memory_;
  std::vector<std::atomic<std::int32_t>> words_;
  int ranks_;
};

std::atomic<std::uint64_t> next_id{1};

Offer offer_of(const std::shared_ptr<const Program>& program, Floats& input, Floats& output, std::uint64_t fingerprint = 1) {
  Offer offer{};
  offer.program = program;
  offer.length = input.size();
  offer.begins = {0, input.size()};
  offer.buffers = {{reinterpret_cast<const std::byte*>(input.data())}, {reinterpret_cast<std::byte*>(output.data())}};
  offer.fingerprint = fingerprint + input.size() * 1000;
  offer.id = next_id++;
  return offer;
}

std::shared_ptr<const Program> sum_of(int ranks) {
  return std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, DType::kFloat32, ranks)));
}

// Repeats the call until it ends, as the callers in JavaScript do.
Status finish(Member& member, Offer& offer, bool may_block) {
  for (Wait wait = may_block ? Wait::kBlocking : Wait::kBrief;;) {
    const Status status = member.execute(offer, wait);
    if (status != Status::kWaiting && status != Status::kNotify && status != Status::kSlice) return status;
    if (!may_block) wait = Wait::kPatient;
  }
}

template <class Work>
void on_threads(int ranks, Work work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([=] { work(rank); });
  for (std::thread& thread : threads) thread.join();
}

class Members : public testing::TestWithParam<std::tuple<int, int, bool>> {};

// The sizes vary, so that small collectives, whose meetings have only a first half, and others
// follow each other in any order.
TEST_P(Members, SumCorrectlyForAnySequenceOfSizes) {
  const auto [ranks, cores, may_block] = GetParam();
  Table table(ranks);
  const auto program = sum_of(ranks);
  on_threads(ranks, [&table, program, ranks = ranks, cores = cores, may_block = may_block](int rank) {
    const auto member = table.join(rank, cores);
    std::mt19937 sizes(5);
    std::mt19937 whims(static_cast<unsigned>(rank));
    for (int round = 0; round < 600; ++round) {
      const std::size_t length = sizes() % 3 == 0 ? sizes() % 5000 : sizes() % 16;
      Floats input(length, static_cast<float>(rank + round));
      Floats output(length);
      const bool in_place = sizes() % 2 == 0;
      Offer offer = offer_of(program, input, in_place ? input : output);
      const bool blocks = may_block && whims() % 4 != 0;
      if (finish(*member, offer, blocks) != Status::kDone) return ADD_FAILURE() << "round " << round;
      const float sum = static_cast<float>(ranks * round + ranks * (ranks - 1) / 2);
      for (const float value : in_place ? input : output) {
        if (value != sum) return ADD_FAILURE() << "round " << round << ": " << value << " is not " << sum;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Members,
                         testing::Combine(testing::Values(1, 2, 3, 5), testing::Values(1, 64), testing::Bool()));

TEST(Member, CutsLargeCollectivesIntoSlices) {
  Table table(2);
  const auto program = sum_of(2);
  on_threads(2, [&](int rank) {
    const auto member = table.join(rank, 2);
    Floats values(9'000'001, static_cast<float>(rank + 1));
    Offer offer = offer_of(program, values, values);
    int batches = 1;
    for (Status status = Status::kWaiting; status != Status::kDone;) {
      status = member->execute(offer, Wait::kBrief);
      batches += status == Status::kSlice ? 1 : 0;
    }
    EXPECT_EQ(batches, 3);
    EXPECT_EQ(values.front(), 3);
    EXPECT_EQ(values.back(), 3);
  });
}

// The rank that detects the disagreement first fails the group at once, as callers in JavaScript
// do, while other ranks still wait or are about to leave.
TEST(Member, DetectsADisagreementAfterOthersFailedTheGroup) {
  const auto program = sum_of(5);
  for (int round = 0; round < (is_short() ? 50 : 300) && !::testing::Test::HasFailure(); ++round) {
    Table table(5);
    on_threads(5, [&](int rank) {
      const auto member = table.join(rank, 1);
      Floats values(round % 2 == 0 ? 4 : 5000, 1);
      Offer offer = offer_of(program, values, values, rank == 3 ? 2 : 1);
      const Status status = finish(*member, offer, round % 4 < 2);
      table.fail();
      EXPECT_EQ(status, Status::kDisagreed) << "rank " << rank << ", round " << round;
    });
  }
}

// A rank that waits for arrivals attributes a failure to an earlier meeting as long as some rank
// has not arrived at this one.
TEST(Member, HasArrivedOnceItsArrivalIsVisible) {
  const auto program = sum_of(2);
  int late = 0;
  for (int round = 0; round < (is_short() ? 50 : 300); ++round) {
    Table table(2);
    const auto waiting = table.join(1, 1);
    Floats own(4, 1);
    Offer offer = offer_of(program, own, own);
    EXPECT_EQ(waiting->execute(offer, Wait::kBrief), Status::kWaiting);
    std::thread other([&] {
      const auto member = table.join(0, 1);
      Floats values(4, 1);
      Offer its = offer_of(program, values, values);
      EXPECT_EQ(finish(*member, its, true), Status::kDone);
    });
    while (waiting->is_missing(0)) yield();
    late += table.arrived(0) == 1 ? 0 : 1;
    other.join();
  }
  EXPECT_EQ(late, 0);
}

TEST(Member, ReturnsToItsCallerUntilTheOthersArrive) {
  Table table(2);
  const auto program = sum_of(2);
  Floats values(1000, 1);
  const auto member = table.join(0, 2);
  Offer offer = offer_of(program, values, values);
  for (int look = 0; look < 5; ++look) EXPECT_EQ(member->execute(offer, Wait::kBrief), Status::kWaiting);
  EXPECT_EQ(member->execute(offer, Wait::kBlocking), Status::kWaiting);
  EXPECT_TRUE(member->is_missing(1));
  on_threads(1, [&](int) {
    std::thread late([&] {
      Floats others(1000, 2);
      Offer other = offer_of(program, others, others);
      EXPECT_EQ(finish(*table.join(1, 2), other, true), Status::kDone);
      EXPECT_EQ(others[999], 3);
    });
    EXPECT_EQ(finish(*member, offer, true), Status::kDone);
    late.join();
  });
  EXPECT_EQ(values[0], 3);
}

TEST(Member, RequestsToWakeAWaitingEventLoop) {
  Table table(2);
  const auto program = sum_of(2);
  for (const std::size_t length : {1u, 1000u}) {
    table.count_sleeper(0, 1);
    Floats values(length, 1);
    Offer offer = offer_of(program, values, values);
    const auto member = table.join(0, 2);
    EXPECT_EQ(member->execute(offer, Wait::kBlocking), Status::kNotify);
    EXPECT_EQ(member->execute(offer, Wait::kBrief), Status::kWaiting);
    table.count_sleeper(0, -1);
    table.fail();
    EXPECT_EQ(member->execute(offer, Wait::kBlocking), Status::kFailed);
    table = Table(2);
  }
}

TEST(Member, DetectsThatRanksDisagree) {
  for (const std::size_t length : {4u, 4000u}) {
    Table table(3);
    const auto program = sum_of(3);
    on_threads(3, [&](int rank) {
      Floats values(length, 1);
      Offer offer = offer_of(program, values, values, rank == 1 ? 2 : 1);
      EXPECT_EQ(finish(*table.join(rank, 64), offer, true), Status::kDisagreed);
      EXPECT_EQ(values[0], 1);
    });
  }
}

TEST(Member, DetectsMemoryThatIsPassedTwice) {
  for (const std::size_t length : {4u, 4000u}) {
    Table table(2);
    const auto program = sum_of(2);
    Floats shared(length, 1);
    on_threads(2, [&](int rank) {
      Offer offer = offer_of(program, shared, shared);
      const auto member = table.join(rank, 64);
      EXPECT_EQ(finish(*member, offer, true), Status::kClashed);
      EXPECT_EQ(member->clash().rank, 0);
      EXPECT_EQ(member->clash().other, 1);
    });
    EXPECT_EQ(shared[length - 1], 1);
  }
}

TEST(Member, WritesASharedResultOnce) {
  Table table(3);
  const auto program = sum_of(3);
  Floats shared(5);
  on_threads(3, [&](int rank) {
    Floats values(5, static_cast<float>(rank));
    Offer offer = offer_of(program, values, shared);
    offer.shares_result = true;
    EXPECT_EQ(finish(*table.join(rank, 64), offer, true), Status::kDone);
    EXPECT_EQ(shared[4], 3);
  });
}

// All ranks return if one fails the group while others are in the middle of a call.
TEST(Member, EndsOnAllRanksWhenTheGroupFails) {
  for (int round = 0; round < 30; ++round) {
    Table table(3);
    const auto program = sum_of(3);
    on_threads(3, [&](int rank) {
      const auto member = table.join(rank, 64);
      for (int call = 0;; ++call) {
        auto values = std::make_unique<Floats>(100 + rank % 1, 1.0F);
        Offer offer = offer_of(program, *values, *values);
        if (rank == 2 && call == round * 7) {
          table.fail();
          break;
        }
        if (finish(*member, offer, call % 2 == 0) == Status::kFailed) break;
      }
    });
  }
}

}  // namespace
}  // namespace coll::test
