#if defined(__linux__)

#include <gtest/gtest.h>

#include <numeric>

#include "message_case.h"
#include "message_group.h"
#include "test_grid.h"

namespace coll::test {
namespace {

std::string words_for(const Schedule& schedule, std::size_t length) {
  return "kind " + std::to_string(static_cast<int>(schedule.kind)) + " op " + std::to_string(static_cast<int>(schedule.op)) + " dtype " +
         std::to_string(static_cast<int>(schedule.dtype)) + " ranks " + std::to_string(schedule.ranks) + " chunks " +
         std::to_string(schedule.chunks) + " length " + std::to_string(length);
}

void expect_right(MessageGroup& group, Case& data, const std::string& what) {
  group.run([&](int rank, MessageExecutor& executor) {
    EXPECT_EQ(execute_to_end(executor, data.offers[static_cast<std::size_t>(rank)]), Status::kDone) << what << " rank " << rank;
  });
  EXPECT_EQ(data.first_wrong(), -1) << what;
}

// Many schedules and requests one after the other in one group, as a program does.
void execute_random_schedules(Transport transport, int ranks, int rounds, std::size_t most, unsigned seed) {
  std::mt19937 random(seed);
  MessageGroup group(ranks, transport);
  const int last = is_short() ? rounds / 3 : rounds;
  for (int round = 0; round < last && !::testing::Test::HasFailure(); ++round) {
    const auto kind = static_cast<Kind>(random() % kKindCount);
    const auto dtype = static_cast<DType>(random() % (kDTypeCount - 1));
    const bool has_blocks = request_of(kind).has_blocks();
    const int blocks = chunks_of(kind, ranks);
    const int chunks = has_blocks ? blocks * static_cast<int>(1 + random() % 3) : static_cast<int>(1 + random() % 7);
    const int root = static_cast<int>(random() % static_cast<unsigned>(ranks));
    // Kinds that only move values have no op, which the program's words give as a sum.
    const Op op = moves(kind) ? Op::kSum : static_cast<Op>(random() % kOpCount);
    const Schedule schedule = random_schedule(kind, op, dtype, ranks, root, chunks, random);
    std::size_t length = random() % 4 == 0 ? random() % 8 : random() % most;
    if (has_blocks) length = length / static_cast<std::size_t>(blocks) * static_cast<std::size_t>(blocks);
    std::vector<std::size_t> starts{0};
    if (!has_blocks) {
      for (auto pieces = random() % 4; pieces > 0; --pieces) starts.push_back(random() % (length + 1));
    }
    std::sort(starts.begin(), starts.end());
    Case data(schedule, length, starts, random() % 2 == 0, random, random() % 2 == 0);
    expect_right(group, data, words_for(schedule, length));
  }
}

TEST(MessageExecutor, ReturnsTheSameBitsAsThreads) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) execute_random_schedules(Transport::kSocketPair, ranks, 60, 20000, static_cast<unsigned>(ranks));
}

TEST(MessageExecutor, ContinuesAfterPartialReadsAndWrites) {
  for (const int ranks : {2, 3, 5}) execute_random_schedules(Transport::kTinySocketPair, ranks, 30, 20000, static_cast<unsigned>(10 + ranks));
}

TEST(MessageExecutor, ExecutesOverLoopback) {
  for (const int ranks : {2, 4}) execute_random_schedules(Transport::kTcp, ranks, 20, 40000, static_cast<unsigned>(20 + ranks));
}

TEST(MessageExecutor, ExecutesOverSeveralSockets) {
  execute_random_schedules(Transport::kStripedTcp, 3, 16, 200000, 31);
  execute_random_schedules(Transport::kTcpApart, 3, 16, 30000, 32);
}

TEST(MessageExecutor, ExecutesOverChecksummedConnections) {
  for (const int ranks : {2, 3, 4}) execute_random_schedules(Transport::kChecksummed, ranks, 20, 60000, static_cast<unsigned>(50 + ranks));
}

TEST(MessageExecutor, ExecutesThroughSharedMemory) {
  for (const int ranks : {2, 3, 6}) execute_random_schedules(Transport::kRing, ranks, 20, 40000, static_cast<unsigned>(40 + ranks));
  execute_random_schedules(Transport::kTinyRing, 4, 16, 40000, 49);
}

TEST(MessageExecutor, ExecutesRingsOfEveryDType) {
  std::mt19937 random(3);
  MessageGroup group(3, Transport::kSocketPair);
  for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
    for (const Op op : {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kProduct}) {
      if (static_cast<DType>(dtype) == DType::kBool && op == Op::kMean) continue;
      for (const std::size_t length : {0u, 1u, 5u, 10007u}) {
        const Schedule schedule = ring_all_reduce(op, static_cast<DType>(dtype), 3, 2);
        Case data(schedule, length, {0}, length % 2 == 0, random);
        expect_right(group, data, words_for(schedule, length));
      }
    }
  }
}

TEST(MessageExecutor, KeepsLargeBuffersMoving) {
  std::mt19937 random(4);
  for (const Transport transport : {Transport::kSocketPair, Transport::kTcp, Transport::kChecksummed, Transport::kRing}) {
    MessageGroup group(4, transport);
    const Schedule schedule = ring_all_reduce(Op::kSum, DType::kFloat32, 4, 2);
    Case data(schedule, (1u << 20) + 3, {0, 5, 1000000}, true, random);
    expect_right(group, data, words_for(schedule, data.begins.back()));
  }
}

// Gathers by recursive doubling, which needs few messages, and directly, which needs few rounds.
TEST(MessageExecutor, GathersSmallMessages) {
  std::mt19937 random(7);
  for (const int ranks : {2, 3, 4, 7, 8, 16}) {
    for (const bool all_share_cores : {false, true}) {
      MessageGroup group(ranks, Transport::kSocketPair, 2, all_share_cores);
      for (const std::size_t length : {1u, 7u, 500u, 8000u}) {
        for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16}) {
          Case data(ring_all_reduce(Op::kMean, dtype, ranks), length, {0, length / 2}, length == 7, random, true);
          expect_right(group, data, std::to_string(ranks) + " ranks, " + std::to_string(length) + " elements");
        }
      }
    }
  }
}

TEST(MessageExecutor, ExecutesManyRanks) { execute_random_schedules(Transport::kSocketPair, 24, 6, 3000, 5); }

// There are no channels between ranks that exchange nothing.
TEST(MessageExecutor, NeedsOnlyTheChannelsOfTheSchedule) {
  std::mt19937 random(10);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    for (const Schedule& schedule : sparse_schedules(dtype)) {
      MessageGroup group(8, Transport::kSocketPair, 2, true, [&](int low, int high) { return moves_between(schedule, low, high); });
      for (const std::size_t length : {0u, 8u, 40u, 100'000u}) {
        for (const bool is_in_place : {false, true}) {
          Case data(schedule, length, {0}, is_in_place, random);
          expect_right(group, data, words_for(schedule, length));
        }
      }
    }
  }
}

// Rank 1 arrives late and with interruptions; rank 0 waits for it with a patience that runs out.
TEST(MessageExecutor, ResumesAfterItsPatienceHasEnded) {
  std::mt19937 random(6);
  MessageGroup group(2, Transport::kSocketPair);
  const Schedule schedule = ring_all_reduce(Op::kSum, DType::kFloat32, 2);
  Case data(schedule, 1000000, {0}, false, random);
  EXPECT_EQ(group.executors[0]->execute(data.offers[0], std::chrono::milliseconds(1)), Status::kWaiting);
  bool is_done[2] = {false, false};
  for (int turn = 0; !(is_done[0] && is_done[1]); ++turn) {
    ASSERT_LT(turn, 100000);
    const int rank = turn % 2;
    if (is_done[rank]) continue;
    const Status status = group.executors[static_cast<std::size_t>(rank)]->execute(data.offers[static_cast<std::size_t>(rank)], std::chrono::microseconds(0));
    ASSERT_TRUE(status == Status::kWaiting || status == Status::kDone);
    is_done[rank] = status == Status::kDone;
  }
  EXPECT_EQ(data.first_wrong(), -1);
}

// Rank 0 returns to its caller again and again while data still moves.
TEST(MessageExecutor, ReturnsToTheCallerBetweenSlices) {
  std::mt19937 random(7);
  for (const Transport transport : {Transport::kTcp, Transport::kRing}) {
    MessageGroup group(2, transport);
    const Schedule schedule = ring_all_reduce(Op::kSum, DType::kFloat32, 2);
    Case data(schedule, 3'000'000, {0}, false, random);
    Status other = Status::kWaiting;
    std::thread thread([&] { other = execute_to_end(*group.executors[1], data.offers[1]); });
    int slices = 0;
    Status status = Status::kSlice;
    for (; status == Status::kSlice; ++slices) status = group.executors[0]->execute(data.offers[0], std::chrono::seconds(100), std::chrono::microseconds(100));
    thread.join();
    EXPECT_EQ(status, Status::kDone);
    EXPECT_EQ(other, Status::kDone);
    EXPECT_GT(slices, 2);
    EXPECT_EQ(data.first_wrong(), -1);
  }
}

// A peer that accepts all data and never sends any.
class SilentPeer : public Channel {
 public:
  explicit SilentPeer(std::vector<std::size_t>& sizes) : sizes_(sizes) {}
  ssize_t send(const iovec* parts, int count) override {
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
    sizes_.push_back(bytes);
    return static_cast<ssize_t>(bytes);
  }
  ssize_t receive(const iovec*, int) override { return 0; }
  pollfd polled_to_send() const override { return {-1, 0, 0}; }
  pollfd polled_to_receive() const override { return {-1, 0, 0}; }
  void sleep(int) override {}

 private:
  std::vector<std::size_t>& sizes_;
};

// With eight ranks, each rank has partners at distances of 1, 2 and 4.
TEST(MessageExecutor, SendsNothingToMostRanksIfAllShareCores) {
  std::mt19937 random(9);
  Case data(ring_all_reduce(Op::kSum, DType::kFloat32, 8), 4, {0}, false, random, true);
  const auto messages = [&](bool all_share_cores) {
    std::vector<std::size_t> sizes;
    std::vector<std::unique_ptr<Channel>> channels(8);
    for (std::size_t peer = 1; peer < 8; ++peer) channels[peer] = std::make_unique<SilentPeer>(sizes);
    const FailureWord failure{0};
    MessageExecutor executor(std::move(channels), 0, 8, {0, 8, 2}, all_share_cores, 7, failure, nullptr);
    EXPECT_EQ(executor.execute(data.offers[0], std::chrono::milliseconds(1)), Status::kWaiting);
    return sizes;
  };
  EXPECT_EQ(messages(false), std::vector<std::size_t>(7, 48));
  EXPECT_EQ(messages(true), std::vector<std::size_t>{48}) << "partners further away get what has come from nearer ones, too";
}

TEST(MessageExecutor, SendsHeadersOnlyWithValuesInARing) {
  std::mt19937 random(11);
  Case data(ring_all_reduce(Op::kSum, DType::kFloat32, 8), 8, {0}, false, random);
  std::vector<std::vector<std::size_t>> sizes(8);
  std::vector<std::unique_ptr<Channel>> channels(8);
  for (std::size_t peer = 1; peer < 8; ++peer) channels[peer] = std::make_unique<SilentPeer>(sizes[peer]);
  const FailureWord failure{0};
  MessageExecutor executor(std::move(channels), 0, 8, {0, 8, 2}, true, 7, failure, nullptr);
  EXPECT_EQ(executor.execute(data.offers[0], std::chrono::milliseconds(1)), Status::kWaiting);
  for (std::size_t peer = 1; peer < 8; ++peer) EXPECT_EQ(sizes[peer], peer == 1 ? std::vector<std::size_t>{40} : std::vector<std::size_t>{}) << peer;
}

// BBR, a congestion control, estimates the stream as slow while a whole packet waits in the
// loopback device.
TEST(MessageExecutor, SendsLessThanAPacketPerCallIfRanksShareCores) {
  std::mt19937 random(8);
  const Schedule schedule = ring_all_reduce(Op::kSum, DType::kFloat32, 3);
  Case data(schedule, 1'000'000, {0}, false, random);
  const auto largest_call = [&](const LocalRank& local) {
    std::vector<std::size_t> sizes;
    std::vector<std::unique_ptr<Channel>> channels(3);
    for (const std::size_t peer : {1, 2}) channels[peer] = std::make_unique<SilentPeer>(sizes);
    const FailureWord failure{0};
    MessageExecutor executor(std::move(channels), 0, 3, local, false, 7, failure, nullptr);
    EXPECT_EQ(executor.execute(data.offers[0], std::chrono::milliseconds(1)), Status::kWaiting);
    EXPECT_GT(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 1'000'000u);
    return *std::max_element(sizes.begin(), sizes.end());
  };
  EXPECT_LT(largest_call({0, 3, 2}), 65464u);  // an IPv6 packet of 64 KiB without its headers
  EXPECT_GT(largest_call({0, 3, 3}), 200'000u);
  EXPECT_GT(largest_call({0, 2, 2}), 200'000u) << "those of other hosts use other cores";
}

}  // namespace
}  // namespace coll::test

#endif
