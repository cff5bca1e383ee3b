#if defined(__linux__)

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <tuple>

#include "message_case.h"
#include "message_group.h"

namespace coll::test {
namespace {

using namespace std::chrono_literals;

// Rank 0 of two; the peer is a bare socket.
struct Lonely {
  Lonely() {
    std::tie(own, socket) = socket_pair();
    std::vector<std::unique_ptr<Channel>> channels(2);
    channels[1] = std::make_unique<TcpChannel>(std::vector{own});
    executor = std::make_unique<MessageExecutor>(std::move(channels), 0, 2, LocalRank{0, 2, 2}, false, 7, failure, [this](int rank, int error) {
      lost = rank;
      lost_to = error;
    });
  }
  ~Lonely() {
    if (socket >= 0) close(socket);
  }

  void say(const void* bytes, std::size_t count) const { ASSERT_EQ(write(socket, bytes, count), static_cast<ssize_t>(count)); }
  void hang_up() {
    close(socket);
    socket = -1;
  }

  std::size_t unread() const {
    int bytes = 0;
    EXPECT_EQ(ioctl(own, FIONREAD, &bytes), 0);
    return static_cast<std::size_t>(bytes);
  }

  int own;
  int socket;
  FailureWord failure{0};
  int lost = -1;
  int lost_to = -1;
  std::unique_ptr<MessageExecutor> executor;
};

struct TwoRanks {
  std::mt19937 random{1};
  Schedule schedule = ring_all_reduce(Op::kSum, DType::kFloat32, 2);
  Case data{schedule, 1000, {0}, false, random};
};

MessageHeader header_of(std::uint32_t generation, std::uint64_t sequence, std::uint64_t fingerprint) {
  MessageHeader header;
  header.generation = generation;
  header.sequence = sequence;
  header.fingerprint = fingerprint;
  return header;
}

// Sends a header before a message, and expects the executor's status and the reported loss. The
// output must stay untouched.
void expect_header_to(const MessageHeader& header, Status status, int lost, int lost_to) {
  Lonely rank;
  TwoRanks two;
  rank.say(&header, sizeof header);
  const std::vector<std::byte> payload(3000, std::byte{1});
  rank.say(payload.data(), payload.size());
  EXPECT_EQ(execute_to_end(*rank.executor, two.data.offers[0]), status);
  EXPECT_EQ(rank.lost, lost);
  EXPECT_EQ(rank.lost_to, lost_to);
  EXPECT_EQ(two.data.outputs[0], std::vector<std::byte>(two.data.outputs[0].size()));
  EXPECT_EQ(rank.executor->execute(two.data.offers[0], 1ms), Status::kFailed) << "a group fails for good";
}

TEST(MessageFaults, DetectsRanksInAnotherCallBeforeItWritesTheOutput) { expect_header_to(header_of(7, 1, 43), Status::kDisagreed, -1, -1); }

TEST(MessageFaults, TreatsAPeerWithACorruptStreamAsLostBeforeItWritesTheOutput) {
  MessageHeader magic = header_of(7, 1, 42);
  magic.magic = 0x20544547;
  MessageHeader reserved = header_of(7, 1, 42);
  reserved.reserved = 1;
  for (const MessageHeader& header : {header_of(7, 2, 42), header_of(8, 1, 42), magic, reserved}) expect_header_to(header, Status::kFailed, 1, EBADMSG);
}

// The disagreement is also reported to a rank that only sends and waits for nothing.
TEST(MessageFaults, ReportsADisagreementToEveryRank) {
  std::mt19937 random(3);
  for (const Kind kind : {Kind::kBroadcast, Kind::kReduce, Kind::kAllGather, Kind::kGather, Kind::kScatter, Kind::kAllToAll, Kind::kAllReduce}) {
    const Schedule schedule = random_schedule(kind, Op::kSum, DType::kFloat32, 3, 0, chunks_of(kind, 3), random);
    Case data(schedule, 3006, {0}, false, random, true);
    data.offers[2].fingerprint = 43;
    MessageGroup group(3, Transport::kSocketPair);
    group.run([&](int rank, MessageExecutor& executor) {
      EXPECT_EQ(execute_to_end(executor, data.offers[static_cast<std::size_t>(rank)]), Status::kDisagreed) << static_cast<int>(kind) << ' ' << rank;
    });
    for (const std::vector<std::byte>& output : data.outputs) EXPECT_EQ(output, std::vector<std::byte>(output.size()));
  }
}

// Executes all ranks except `absent` in turn until nothing more happens. Returns their last
// results.
std::vector<Status> continue_without(MessageGroup& group, Case& data, int absent = -1) {
  std::vector<Status> statuses(data.offers.size(), Status::kWaiting);
  for (int turn = 0; turn < 100; ++turn) {
    for (std::size_t rank = 0; rank < statuses.size(); ++rank) {
      if (static_cast<int>(rank) != absent && statuses[rank] == Status::kWaiting) statuses[rank] = group.executors[rank]->execute(data.offers[rank], 0us);
    }
  }
  return statuses;
}

void expect_untouched(const Case& data, const Case& before, const std::string& what) {
  EXPECT_EQ(data.outputs, before.outputs) << what;
  EXPECT_EQ(data.inputs, before.inputs) << what;
}

// Neighbours detect the disagreement, and the monitor reports it to all other ranks.
TEST(MessageFaults, DetectsADisagreementInSparseSchedulesBeforeAnyRankWritesItsOutput) {
  for (const Schedule& schedule : sparse_schedules()) {
    for (const std::size_t length : {0u, 8u, 20'000u}) {
      for (int odd = 0; odd < 8; ++odd) {
        std::mt19937 random(10);
        const bool is_in_place = odd % 2 == 0;
        Case data(schedule, length, {0}, is_in_place, random);
        const Case before = data;
        data.offers[static_cast<std::size_t>(odd)].fingerprint = 43;
        MessageGroup group(8, Transport::kSocketPair);
        const std::vector<Status> statuses = continue_without(group, data);
        const std::string what = std::to_string(static_cast<int>(schedule.kind)) + " of " + std::to_string(length) + ", rank " + std::to_string(odd);
        EXPECT_EQ(std::count(statuses.begin(), statuses.end(), Status::kDone), 0) << what;
        EXPECT_GT(std::count(statuses.begin(), statuses.end(), Status::kDisagreed), 0) << what;
        expect_untouched(data, before, what);
      }
    }
  }
}

TEST(MessageFaults, EndsOnNoRankOfASparseScheduleBeforeAllHaveArrived) {
  for (const Schedule& schedule : sparse_schedules()) {
    for (const std::size_t length : {0u, 8u, 20'000u}) {
      for (int absent = 0; absent < 8; ++absent) {
        std::mt19937 random(11);
        Case data(schedule, length, {0}, absent % 2 == 0, random);
        const Case before = data;
        MessageGroup group(8, Transport::kSocketPair);
        const std::string what = std::to_string(static_cast<int>(schedule.kind)) + " of " + std::to_string(length) + ", rank " + std::to_string(absent);
        EXPECT_EQ(continue_without(group, data, absent), std::vector<Status>(8, Status::kWaiting)) << what;
        expect_untouched(data, before, what);
        EXPECT_EQ(continue_without(group, data), std::vector<Status>(8, Status::kDone)) << what;
        EXPECT_EQ(data.first_wrong(), -1) << what;
      }
    }
  }
}

// The last rank's header and message lie in the inbox before its turn comes.
TEST(MessageFaults, DetectsADisagreementInAnEarlyMessage) {
  std::mt19937 random(7);
  const Schedule schedule = random_schedule(Kind::kAllReduce, Op::kSum, DType::kFloat32, 3, 0, 3, random);
  Case first(schedule, 4, {0}, false, random, true);
  Case second(schedule, 4, {0}, false, random, true);
  second.offers[2].fingerprint = 43;
  MessageGroup group(3, Transport::kSocketPair);
  const auto execute = [&](int rank, Case& data, std::chrono::microseconds patience) {
    return group.executors[static_cast<std::size_t>(rank)]->execute(data.offers[static_cast<std::size_t>(rank)], patience);
  };
  EXPECT_EQ(execute(0, first, 1ms), Status::kWaiting);
  EXPECT_EQ(execute(1, first, 1ms), Status::kWaiting);
  EXPECT_EQ(execute(2, first, 60s), Status::kDone);
  EXPECT_EQ(execute(2, second, 1ms), Status::kWaiting);
  EXPECT_EQ(execute(0, first, 60s), Status::kDone);
  EXPECT_EQ(execute(1, first, 60s), Status::kDone);
  EXPECT_EQ(execute(1, second, 60s), Status::kDisagreed);
  EXPECT_EQ(execute(0, second, 60s), Status::kDisagreed);
  EXPECT_EQ(second.outputs[0], std::vector<std::byte>(second.outputs[0].size()));
}

TEST(MessageFaults, EndsOnNoRankBeforeAllHaveArrived) {
  std::mt19937 random(4);
  const Schedule schedule{Kind::kBroadcast, Op::kSum, DType::kInt8, 3, 0, 1, {{{0, 1, {0}}}, {{0, 2, {1}}}}};
  Case data(schedule, 10, {0}, false, random);
  MessageGroup group(3, Transport::kSocketPair);
  EXPECT_EQ(group.executors[0]->execute(data.offers[0], 1ms), Status::kWaiting);
  EXPECT_EQ(group.executors[1]->execute(data.offers[1], 1ms), Status::kWaiting);
  EXPECT_EQ(group.executors[0]->execute(data.offers[0], 1ms), Status::kWaiting);
  EXPECT_EQ(data.outputs[1], std::vector<std::byte>(10));
  EXPECT_EQ(group.executors[2]->execute(data.offers[2], 1ms), Status::kWaiting);
  EXPECT_EQ(group.executors[0]->execute(data.offers[0], 60s), Status::kDone);
  EXPECT_EQ(group.executors[1]->execute(data.offers[1], 60s), Status::kDone);
  EXPECT_EQ(group.executors[2]->execute(data.offers[2], 60s), Status::kDone);
  EXPECT_EQ(data.first_wrong(), -1);
}

TEST(MessageFaults, NamesTheLostRank) {
  Lonely rank;
  TwoRanks two;
  EXPECT_EQ(rank.executor->execute(two.data.offers[0], 1ms), Status::kWaiting);
  rank.hang_up();
  EXPECT_EQ(rank.executor->execute(two.data.offers[0], 60s), Status::kFailed);
  EXPECT_EQ(rank.lost, 1);
  rank.executor->abandon();
  EXPECT_EQ(rank.executor->execute(two.data.offers[0], 1ms), Status::kFailed);
}

TEST(MessageFaults, ReportsAStreamThatEndsWithinAMessage) {
  Lonely rank;
  TwoRanks two;
  const MessageHeader header = header_of(7, 1, 42);
  rank.say(&header, sizeof header);
  rank.say(&header, 7);
  shutdown(rank.socket, SHUT_WR);
  EXPECT_EQ(execute_to_end(*rank.executor, two.data.offers[0]), Status::kFailed);
  EXPECT_EQ(rank.lost, 1);
  EXPECT_EQ(rank.lost_to, 0);
}

TEST(MessageFaults, FinishesIfAPeerLeavesAfterItsPart) {
  MessageGroup group(2, Transport::kSocketPair);
  TwoRanks two;
  group.run([&](int rank, MessageExecutor& executor) {
    EXPECT_EQ(execute_to_end(executor, two.data.offers[static_cast<std::size_t>(rank)]), Status::kDone);
    if (rank == 1) group.executors[1].reset();
  });
  EXPECT_EQ(two.data.first_wrong(), -1);
  EXPECT_TRUE(group.losses[0].empty());
}

// All data of the peer has arrived, but none of a third rank's.
TEST(MessageFaults, FinishesIfAPeerLeavesBeforeItsMessageIsUsed) {
  std::mt19937 random(6);
  const Schedule schedule{Kind::kBroadcast, Op::kSum, DType::kInt8, 3, 0, 1, {{{0, 1, {0}}}, {{0, 2, {0}}}}};
  Case data(schedule, 10, {0}, false, random);
  MessageGroup group(3, Transport::kSocketPair);
  EXPECT_EQ(group.executors[0]->execute(data.offers[0], 1ms), Status::kWaiting);
  EXPECT_EQ(group.executors[1]->execute(data.offers[1], 1ms), Status::kWaiting);
  EXPECT_EQ(group.executors[2]->execute(data.offers[2], 60s), Status::kDone);
  EXPECT_EQ(group.executors[0]->execute(data.offers[0], 60s), Status::kDone);
  group.executors[0].reset();
  EXPECT_EQ(group.executors[1]->execute(data.offers[1], 60s), Status::kDone);
  EXPECT_EQ(data.first_wrong(), -1);
  EXPECT_TRUE(group.losses[1].empty());
}

// If a connection is closed with unread bytes, the system resets it and drops data that is still on
// its way to the peer.
TEST(MessageFaults, LeavesNoByteOfItsLastMessageUnread) {
  for (const std::size_t length : {1u, 4099u, 10001u}) {
    for (const bool is_late : {false, true}) {
      std::mt19937 random(8);
      Case data({Kind::kBroadcast, Op::kSum, DType::kFloat32, 2, 1, 1, {{{0, 0, {1}}}}}, length, {0}, false, random);
      Lonely rank;
      std::vector<std::byte> stream(sizeof(MessageHeader));
      const MessageHeader header = header_of(7, 1, 42);
      std::memcpy(stream.data(), &header, sizeof header);
      stream.insert(stream.end(), data.inputs[1].begin(), data.inputs[1].end());
      rank.say(stream.data(), stream.size());
      const std::byte padding[4]{};
      if (is_late) {
        EXPECT_EQ(rank.executor->execute(data.offers[0], 1ms), Status::kWaiting) << "the padding has not come";
      }
      rank.say(padding, sizeof padding);
      EXPECT_EQ(execute_to_end(*rank.executor, data.offers[0]), Status::kDone);
      EXPECT_EQ(data.outputs[0], data.inputs[1]);
      EXPECT_EQ(rank.unread(), 0u) << length << ' ' << is_late;
    }
  }
}

TEST(MessageFaults, TreatsAPeerThatEndsWithinThePaddingAsLost) {
  std::mt19937 random(9);
  Case data({Kind::kBroadcast, Op::kSum, DType::kFloat32, 2, 1, 1, {{{0, 0, {1}}}}}, 10001, {0}, false, random);
  Lonely rank;
  const MessageHeader header = header_of(7, 1, 42);
  rank.say(&header, sizeof header);
  rank.say(data.inputs[1].data(), data.inputs[1].size());
  rank.say("", 1);
  shutdown(rank.socket, SHUT_WR);
  EXPECT_EQ(execute_to_end(*rank.executor, data.offers[0]), Status::kFailed);
  EXPECT_EQ(rank.lost, 1);
}

TEST(MessageFaults, FailsSoonAfterTheGroupDoes) {
  for (const Transport transport : {Transport::kSocketPair, Transport::kRing}) {
    MessageGroup group(2, transport);
    TwoRanks two;
    std::thread failing([&] {
      std::this_thread::sleep_for(30ms);
      group.failure.store(1);
    });
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(group.executors[0]->execute(two.data.offers[0], 60s), Status::kFailed);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 100s);
    failing.join();
    EXPECT_EQ(group.executors[1]->execute(two.data.offers[1], 60s), Status::kFailed);
  }
}

// The processor time of this process.
std::chrono::microseconds used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

TEST(MessageFaults, SleepsWhileItWaits) {
  for (const Transport transport : {Transport::kSocketPair, Transport::kRing}) {
    MessageGroup group(2, transport);
    TwoRanks two;
    // In a virtual machine, the time during which it has no processor counts as well.
    std::chrono::microseconds least = 300ms;
    for (int tries = 0; tries < 10 && least >= 150ms; ++tries) {
      const auto before = used();
      EXPECT_EQ(group.executors[0]->execute(two.data.offers[0], 300ms), Status::kWaiting);
      least = std::min(least, used() - before);
    }
    EXPECT_LT(least, 150ms);
  }
}

// Another process is killed in the middle of a large collective.
TEST(MessageFaults, DetectsThatAProcessWasKilled) {
  const auto [own, other] = tcp_pair();
  std::mt19937 random(5);
  Case data(ring_all_reduce(Op::kSum, DType::kFloat32, 2), std::size_t{2} << 20, {0}, false, random);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  FailureWord failure{0};
  int lost = -1;
  const auto executor_of = [&](int rank, int socket) {
    std::vector<std::unique_ptr<Channel>> channels(2);
    channels[static_cast<std::size_t>(1 - rank)] = std::make_unique<TcpChannel>(std::vector{socket});
    return MessageExecutor(std::move(channels), rank, 2, {rank, 2, 2}, false, 7, failure, [&](int gone, int) { lost = gone; });
  };
  if (child == 0) {
    close(own);
    MessageExecutor executor = executor_of(1, other);
    while (true) {
      if (executor.execute(data.offers[1], 1s) != Status::kWaiting && executor.execute(data.offers[1], 1s) == Status::kFailed) _exit(1);
    }
  }
  close(other);
  MessageExecutor executor = executor_of(0, own);
  for (int executed = 0; executed < 3; ++executed) ASSERT_EQ(execute_to_end(executor, data.offers[0]), Status::kDone);
  EXPECT_EQ(executor.execute(data.offers[0], 0us), Status::kWaiting);
  kill(child, SIGKILL);
  Status status = Status::kDone;
  while (status == Status::kDone || status == Status::kWaiting) status = executor.execute(data.offers[0], 1s);
  EXPECT_EQ(status, Status::kFailed);
  EXPECT_EQ(lost, 1);
  int how = 0;
  waitpid(child, &how, 0);
  EXPECT_TRUE(WIFSIGNALED(how));
}

}  // namespace
}  // namespace coll::test

#endif
