#include <cstdio>
#include <thread>

#include "gpus.h"

namespace coll::test {
namespace {

TEST(Failures, aStalledCollectiveTimesOutAndFailsDependentOperations) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const std::vector<SharedAllocation> buffers = two_buffers();
  const SharedAllocation copy = allocate(0, 16);
  {
    const Wish wish("stuck collective rank=1");
    // The timeout is long enough for the next submissions to arrive first.
    Outcome stalled = submit(within(all_reduce(clique, buffers), 2000));
    Outcome copied = submit(copy_buffer(gpus(), {copy, 0}, {buffers[0], 0}, 16));
    Outcome next = submit(all_reduce(clique, buffers));
    expect_kind(stalled.get(), FailureKind::kTimeout);
    expect_kind(copied.get(), FailureKind::kSpoiled);
    expect_kind(next.get(), FailureKind::kTimeout);
  }
  float value = 0;
  expect_kind(read(copy, &value, 4), FailureKind::kSpoiled);
  expect_kind(run(all_reduce(clique, two_buffers())), FailureKind::kBroken);
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
  expect_usable();
}

TEST(Failures, operationsThatWaitForACollectiveHaveTheSameTimeLimit) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const std::vector<SharedAllocation> buffers = two_buffers();
  EXPECT_FALSE(run(all_reduce(clique, buffers)));
  const Clock::duration usual = gpus().scheduler.timeout();
  gpus().scheduler.configure(std::chrono::milliseconds(1500), gpus().scheduler.grace());
  {
    const Wish wish("slow collective 3000");
    Outcome slow = submit(within(all_reduce(clique, buffers), 200'000));
    EXPECT_EQ(values_of<float>(buffers[0]), (std::vector<float>{4, 8, 12, 16}));
    EXPECT_FALSE(slow.get());
  }
  gpus().scheduler.configure(usual, gpus().scheduler.grace());
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

TEST(Failures, anAsynchronousErrorEndsTheCollective) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const Wish wish("stuck collective\nasync 6 rank=1");
  const std::optional<Failure> failure = run(all_reduce(clique, two_buffers()));
  expect_kind(failure, FailureKind::kNccl);
  EXPECT_EQ(failure->code, 6);
  EXPECT_NE(failure->message.find("rank 1: remote process exited"), std::string::npos);
  EXPECT_NE(failure->message.find("(NCCL result 6); latest operations: "), std::string::npos) << failure->message;
}

TEST(Failures, afterAnInvalidArgumentTheCommunicatorStillWorks) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const std::vector<SharedAllocation> buffers = two_buffers();
  {
    const Wish wish("fail ncclAllReduce 4 rank=0");
    expect_kind(run(all_reduce(clique, buffers)), FailureKind::kInvalidArgument);
  }
  EXPECT_FALSE(run(all_reduce(clique, buffers)));
  EXPECT_EQ(values_of<float>(buffers[0])[0], 2);
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

TEST(Failures, afterAnyOtherResultTheCommunicatorIsBroken) {
  const std::shared_ptr<Clique> clique = open_all(2);
  {
    const Wish wish("fail ncclAllReduce 3");
    expect_kind(run(all_reduce(clique, two_buffers())), FailureKind::kNccl);
  }
  expect_kind(run(all_reduce(clique, two_buffers())), FailureKind::kBroken);
  expect_usable();
}

TEST(Failures, aTimeoutReportsItsDuration) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const Wish wish("stuck collective");
  const std::optional<Failure> failure = run(within(all_reduce(clique, two_buffers()), 200));
  expect_kind(failure, FailureKind::kTimeout);
  double seconds = 0;
  ASSERT_EQ(std::sscanf(failure->message.c_str(), "timed out after %lf s", &seconds), 1) << failure->message;
  EXPECT_GE(seconds, 0.2);
  EXPECT_NE(failure->message.find(" s: the GPU did not finish it"), std::string::npos) << failure->message;
}

TEST(Failures, anAbortEndsRunningOperationsWithItsReason) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const Wish wish("stuck collective");
  Outcome stalled = submit(all_reduce(clique, two_buffers()));
  gpus().scheduler.fail_clique(*clique, {FailureKind::kAborted, 0, "somebody asked for it"});
  const std::optional<Failure> failure = stalled.get();
  expect_kind(failure, FailureKind::kAborted);
  EXPECT_EQ(failure->message, "somebody asked for it");
}

TEST(Failures, aDestroyedCommunicatorRefusesOperations) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const std::vector<SharedAllocation> buffers = two_buffers();
  Outcome last = submit(all_reduce(clique, buffers));
  Outcome destroyed = submit(destroy_clique(gpus(), clique));
  expect_kind(run(all_reduce(clique, two_buffers())), FailureKind::kClosed);
  EXPECT_FALSE(last.get());
  EXPECT_FALSE(destroyed.get());
  EXPECT_EQ(values_of<float>(buffers[0])[0], 2);
}

TEST(Failures, allCommunicatorsAreDestroyedAtTheEnd) {
  for (int looks = 0; looks < 60'000 && gpus().counts.communicators > 0; ++looks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(gpus().counts.communicators, 0);
}

TEST(Recorder, keepsTheLatestOperations) {
  const SharedAllocation filled = allocate(0, 4);
  EXPECT_FALSE(run(fill_buffer(gpus(), {filled, 0}, 4, {0})));
  const std::vector<FlightEntry> entries = gpus().scheduler.flight_record();
  ASSERT_FALSE(entries.empty());
  EXPECT_LE(entries.size(), FlightRecorder::kEntries);
  EXPECT_EQ(entries.back().operation, "fill");
  EXPECT_EQ(entries.back().state, State::kDone);
  EXPECT_EQ(entries.back().elements, 0u);
  EXPECT_GE(entries.back().settled, entries.back().queued);
}

void run_stuck_abort() {
  gpus().scheduler.configure(std::chrono::seconds(200), std::chrono::milliseconds(50));
  const auto reported = std::make_shared<std::promise<std::string>>();
  gpus().scheduler.on_stuck([reported](const std::string& message) { reported->set_value(message); });
  const std::shared_ptr<Clique> clique = open_all(2);
  const Wish wish("stuck collective\nstuck abort rank=1");
  Outcome stalled = submit(within(all_reduce(clique, two_buffers()), 50));
  expect_kind(stalled.get(), FailureKind::kTimeout);
  EXPECT_NE(reported->get_future().get().find("end the process"), std::string::npos);
  const SharedAllocation late = allocate(0, 4);
  expect_kind(run(fill_buffer(gpus(), {late, 0}, 4, {0})), FailureKind::kStuck);
}

void use_memory_of_an_abort() {
  gpus().scheduler.configure(std::chrono::seconds(200), std::chrono::milliseconds(50));
  const std::shared_ptr<Clique> clique = open_all(2, false);
  std::vector<SharedAllocation> buffers = two_buffers();
  const Wish wish("fail ncclAllReduce 3 rank=1\nstuck abort rank=0");
  expect_kind(run(all_reduce(clique, buffers)), FailureKind::kNccl);
  buffers.clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(gpus().counts.buffers, 2);
}

// In a process of its own, which is not usable afterwards.
TEST(AbortDeathTest, memoryInUseByNcclIsKeptUntilTheAbortReturns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto scenario = [] {
    use_memory_of_an_abort();
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

TEST(Failures, onlyOneThreadPollsACallInProgress) {
  const std::shared_ptr<Clique> clique = open_all(2, false);
  const std::vector<SharedAllocation> buffers = two_buffers();
  const Wish wish("slow connect 150");
  const std::optional<Failure> failure = run(all_reduce(clique, buffers));
  EXPECT_FALSE(failure) << failure->message;
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

// In a process of its own, which is not usable afterwards.
TEST(StuckDeathTest, anAbortThatDoesNotReturnIsReportedAndRefusesLaterCalls) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto scenario = [] {
    run_stuck_abort();
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace coll::test
