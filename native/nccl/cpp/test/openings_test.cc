#include <thread>

#include "../libraries/machine.h"
#include "gpus.h"

namespace coll::test {
namespace {

TEST(Openings, openingTimesOutIfARankNeverArrives) {
  for (const bool is_blocking : {true, false}) {
    const auto id = std::make_shared<nccl::UniqueId>();
    EXPECT_FALSE(run(make_unique_id(gpus(), id)));
    const std::shared_ptr<Clique> clique = new_clique(gpus(), {2, {0}, {0}, "lonely", is_blocking});
    expect_kind(run(within(open_clique(gpus(), clique, *id), 100)), FailureKind::kTimeout);
  }
  expect_usable();
}

TEST(Openings, otherGroupsContinueWhileAGroupWaitsForARank) {
  const auto id = std::make_shared<nccl::UniqueId>();
  EXPECT_FALSE(run(make_unique_id(gpus(), id)));
  const std::shared_ptr<Clique> lonely = new_clique(gpus(), {2, {0}, {0}, "lonely", false});
  Outcome opened = submit(within(open_clique(gpus(), lonely, *id), 200'000));
  const std::shared_ptr<Clique> clique = open_all(2, false);
  const std::vector<SharedAllocation> buffers = two_buffers();
  EXPECT_FALSE(run(all_reduce(clique, buffers)));
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
  expect_kind(run(all_reduce(lonely, {allocate(0, 16)})), FailureKind::kClosed);
  // The other rank arrives late.
  const std::shared_ptr<Clique> late = new_clique(gpus(), {2, {1}, {1}, "late", false});
  EXPECT_FALSE(run(open_clique(gpus(), late, *id)));
  EXPECT_FALSE(opened.get());
  Outcome first = submit(destroy_clique(gpus(), lonely));
  EXPECT_FALSE(run(destroy_clique(gpus(), late)));
  EXPECT_FALSE(first.get());
}

TEST(Openings, anAbortedOpeningEndsAtOnce) {
  const auto id = std::make_shared<nccl::UniqueId>();
  EXPECT_FALSE(run(make_unique_id(gpus(), id)));
  for (const char* wish : {"# none", "stuck init"}) {
    const Wish wished(wish);
    const std::shared_ptr<Clique> clique = new_clique(gpus(), {2, {0}, {0}, "lonely", false});
    Outcome opened = submit(open_clique(gpus(), clique, *id));
    gpus().scheduler.fail_clique(*clique, {FailureKind::kAborted, 0, "rank 1 was lost"});
    const std::optional<Failure> failure = opened.get();
    expect_kind(failure, FailureKind::kAborted);
    EXPECT_EQ(failure->message, "rank 1 was lost");
    clique->wait_for_aborts(std::chrono::seconds(100));
    EXPECT_EQ(clique->aborts, 0u);
  }
  expect_usable();
}

TEST(Openings, aRefusedOpeningLeavesNothingOpen) {
  const auto id = std::make_shared<nccl::UniqueId>();
  EXPECT_FALSE(run(make_unique_id(gpus(), id)));
  const std::shared_ptr<Clique> clique = new_clique(gpus(), {1, {0}, {0}, "refused", false});
  const Wish wish("fail ncclCommInitRankConfig 4");
  expect_kind(run(open_clique(gpus(), clique, *id)), FailureKind::kInvalidArgument);
  expect_kind(run(open_clique(gpus(), clique, *id)), FailureKind::kBroken);
}

TEST(Openings, aGroupAbortedDuringASplitLeavesNoSplitGroup) {
  for (const bool is_blocking : {true, false}) {
    const std::shared_ptr<Clique> clique = open_all(2, is_blocking);
    const auto parts = std::make_shared<std::vector<Part>>();
    const Wish wish("stuck init");
    Outcome split = submit(within(split_clique(gpus(), clique, {{0, 0}, {0, 1}, "part"}, parts), 200));
    expect_kind(split.get(), FailureKind::kTimeout);
    clique->wait_for_aborts(std::chrono::seconds(100));
  }
  expect_usable();
}

TEST(Openings, nonBlockingCallsForcedByTheEnvironmentAreAwaited) {
  const Wish wish("non-blocking\nslow collective 5");
  const std::shared_ptr<Clique> clique = open_all(2, true);
  const std::vector<SharedAllocation> buffers = two_buffers();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(run(all_reduce(clique, buffers)));
  EXPECT_EQ(values_of<float>(buffers[1])[0], 8);
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

TEST(Openings, aFinalizeThatDoesNotReturnIsAborted) {
  for (const bool is_blocking : {true, false}) {
    const std::shared_ptr<Clique> clique = open_all(2, is_blocking);
    const Wish wish("stuck finalize rank=1");
    expect_kind(run(within(destroy_clique(gpus(), clique), 100)), FailureKind::kTimeout);
    clique->wait_for_aborts(std::chrono::seconds(100));
  }
  expect_usable();
}

TEST(Openings, theErrorInAContainerSaysWhatIsMissing) {
  const std::pair<const char*, const char*> lacks[] = {{"no nvml", "NCCL needs NVML, and libnvidia-ml.so.1 cannot be opened (Failed to open libnvidia-ml.so.1): give the container"},
                                                       {"full shm", "/dev/shm is too small for NCCL: /dev/shm has "}};
  for (const auto& [lack, words] : lacks) {
    for (const bool is_blocking : {true, false}) {
      const auto id = std::make_shared<nccl::UniqueId>();
      EXPECT_FALSE(run(make_unique_id(gpus(), id)));
      const std::shared_ptr<Clique> clique = new_clique(gpus(), {1, {0}, {0}, "contained", is_blocking});
      const Wish wish(lack);
      const std::optional<Failure> failure = run(open_clique(gpus(), clique, *id));
      expect_kind(failure, FailureKind::kMachine);
      EXPECT_EQ(failure->message.find(words), 0u) << failure->message;
      EXPECT_NE(failure->message.find("; NCCL says unhandled system error: "), std::string::npos) << failure->message;
    }
  }
  const std::string other = nccl::advice_for_machine("Error while attaching to shared memory segment /dev/shm/nccl-1 (size 4), error: No such file or directory (2)");
  EXPECT_EQ(other, "");
}

TEST(Openings, aFirstCollectiveReportsTooLittleSharedMemory) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const Wish wish("full shm");
  const std::optional<Failure> failure = run(all_reduce(clique, two_buffers()));
  expect_kind(failure, FailureKind::kMachine);
  EXPECT_NE(failure->message.find("--shm-size=1g or --ipc=host"), std::string::npos);
  EXPECT_NE(failure->message.find("NCCL_SHM_DISABLE=1"), std::string::npos);
}

TEST(Openings, theErrorForADuplicateGpuIsTheMessageOfNccl) {
  const auto id = std::make_shared<nccl::UniqueId>();
  EXPECT_FALSE(run(make_unique_id(gpus(), id)));
  const std::shared_ptr<Clique> clique = new_clique(gpus(), {2, {0, 1}, {0, 0}, "twice", true});
  const std::optional<Failure> failure = run(open_clique(gpus(), clique, *id));
  expect_kind(failure, FailureKind::kNccl);
  EXPECT_NE(failure->message.find("Duplicate GPU"), std::string::npos);
  expect_usable();
}

}  // namespace
}  // namespace coll::test
