#if defined(__linux__)

#include <gtest/gtest.h>

#include <csignal>

#include "shared_cases.h"
#include "shared_group.h"

namespace coll::test {
namespace {

// Executes all-reduces of random lengths, chosen so that every protocol is used, until the group
// has failed.
bool execute_until_failure(SharedRank& self) {
  std::mt19937 random(13);
  std::vector<float> ordinary(300'000, 1);
  std::byte* const shared = self.memory->allocate(ordinary.size() * sizeof(float));
  const auto program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kMax, DType::kFloat32, self.ranks)));
  for (int call = 0;; ++call) {
    const std::size_t lengths[] = {1, 100, 5000, ordinary.size()};
    Offer offer{};
    offer.program = program;
    offer.length = lengths[random() % 4];
    offer.begins = {0, offer.length};
    const bool is_shared = random() % 2 == 0;
    std::byte* const values = is_shared ? shared : reinterpret_cast<std::byte*>(ordinary.data());
    offer.buffers = {{values}, {values}};
    offer.fingerprint = offer.length;
    const Status status = self.finish(offer);
    if (status == Status::kFailed) {
      self.executor->abandon();
      return self.executor->execute(offer, std::chrono::seconds(1)) == Status::kFailed;
    }
    if (status != Status::kDone) return false;
    self.notices.words[self.rank] = call;
  }
}

void await_calls(Notices& notices, int rank, int calls) {
  while (notices.words[rank] < calls) std::this_thread::yield();
}

class SharedFailure : public testing::TestWithParam<int> {};

// The other ranks wait for the killed rank until the group has failed, and then return.
TEST_P(SharedFailure, OfAKilledRankEndsTheOtherRanks) {
  const int signal = GetParam();
  for (int round = 0; round < (is_short() ? 4 : 12); ++round) {
    SharedNotices notices;
    const std::vector<pid_t> children = fork_ranks(*notices, 3, 2, execute_until_failure);
    await_calls(*notices, 1, 20 + round * 7);
    usleep(static_cast<unsigned>(round * 37));
    kill(children[1], signal);
    // Lets the other ranks wait for the killed one until they sleep.
    usleep(20'000);
    notices->failure = 1;
    EXPECT_EQ(ending_of(children[0]), 0);
    EXPECT_EQ(ending_of(children[2]), 0);
    if (signal == SIGKILL) {
      EXPECT_EQ(ending_of(children[1]), SIGKILL);
      continue;
    }
    kill(children[1], SIGCONT);
    EXPECT_EQ(ending_of(children[1]), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharedFailure, testing::Values(SIGKILL, SIGSTOP));

// The late rank does not know yet that the others have abandoned the collective.
TEST(SharedFailure, IsAwaitedByALateRank) {
  SharedNotices notices;
  const auto work = [](SharedRank& self) {
    for (const std::size_t length : {std::size_t{1}, std::size_t{100'000}}) {
      std::vector<float> values(length, 1);
      Offer offer{};
      offer.program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kMax, DType::kFloat32, self.ranks)));
      offer.length = length;
      offer.begins = {0, length};
      std::byte* const bytes = reinterpret_cast<std::byte*>(values.data());
      offer.buffers = {{bytes}, {bytes}};
      if (self.rank > 0 && self.executor->execute(offer, std::chrono::milliseconds(1)) != Status::kWaiting) return false;
      if (self.rank > 0) self.executor->abandon();
      self.notices.meet(self.ranks);
      if (self.rank == 0 && self.executor->execute(offer, std::chrono::milliseconds(10)) != Status::kWaiting) return false;
      if (self.rank == 0) self.executor->abandon();
      self.notices.meet(self.ranks);
    }
    return true;
  };
  for (const pid_t child : fork_ranks(*notices, 3, 2, work)) EXPECT_EQ(ending_of(child), 0);
}

TEST(SharedFailure, WakesASleepingRank) {
  SharedNotices notices;
  const auto work = [](SharedRank& self) {
    if (self.rank == 0) return execute_until_failure(self);
    // This rank never takes part.
    while (self.notices.failure == 0) std::this_thread::yield();
    return true;
  };
  const std::vector<pid_t> children = fork_ranks(*notices, 2, 2, work);
  usleep(100'000);
  const auto begin = std::chrono::steady_clock::now();
  notices->failure = 1;
  EXPECT_EQ(ending_of(children[0]), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(ending_of(children[1]), 0);
}

}  // namespace
}  // namespace coll::test

#endif
