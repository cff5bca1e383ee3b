#if defined(__linux__)

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "processes/group.h"
#include "processes/runner.h"
#include "record/call_stamp.h"

namespace coll::test {
namespace {

using std::chrono::milliseconds;

// Longer than a busy machine suspends any thread.
constexpr milliseconds kLong{100'000};

// A test double of an executor. Its ranks meet at counters in this process and transfer no data.
struct Meetings {
  explicit Meetings(int size) : arrived(static_cast<std::size_t>(size)) {}
  std::vector<std::atomic<int>> arrived;
};

class MeetingExecutor : public Executor {
 public:
  MeetingExecutor(Meetings& meetings, int rank, const FailureWord& failure) : meetings_(meetings), rank_(rank), failure_(failure) {}

  Status execute(Offer&, std::chrono::microseconds patience, std::chrono::microseconds) override {
    if (!is_under_way_) own().fetch_add(1);
    is_under_way_ = true;
    const auto until = Clock::now() + patience;
    do {
      if (all_have_come()) {
        is_under_way_ = false;
        return Status::kDone;
      }
      if (failure_.load() != 0) return Status::kFailed;
      std::this_thread::yield();
    } while (Clock::now() < until);
    return Status::kWaiting;
  }

  void abandon() override { is_under_way_ = false; }

 private:
  std::atomic<int>& own() { return meetings_.arrived[static_cast<std::size_t>(rank_)]; }
  bool all_have_come() {
    for (const auto& count : meetings_.arrived) {
      if (count.load() < own().load()) return false;
    }
    return true;
  }

  Meetings& meetings_;
  const int rank_;
  const FailureWord& failure_;
  bool is_under_way_ = false;
};

// A test executor for which all data of the other ranks has arrived.
class LastExecutor : public Executor {
 public:
  Status execute(Offer&, std::chrono::microseconds, std::chrono::microseconds) override { return Status::kDone; }
  void abandon() override {}
  bool came_last() const override { return true; }
};

// A test executor that has all data of the other ranks, but completes only when allowed.
class SlowExecutor : public Executor {
 public:
  SlowExecutor(const std::atomic<bool>& may_end, const FailureWord& failure) : may_end_(may_end), failure_(failure) {}
  Status execute(Offer&, std::chrono::microseconds, std::chrono::microseconds) override {
    if (failure_.load() != 0) return Status::kFailed;
    return may_end_ ? Status::kDone : Status::kWaiting;
  }
  void abandon() override {}

 private:
  const std::atomic<bool>& may_end_;
  const FailureWord& failure_;
};

// A test executor that remembers which recorded call the thread executes.
class RecordedExecutor : public Executor {
 public:
  explicit RecordedExecutor(std::atomic<std::byte*>& seen) : seen_(seen) {}
  Status execute(Offer&, std::chrono::microseconds, std::chrono::microseconds) override {
    seen_ = recorded_call();
    return Status::kDone;
  }
  void abandon() override {}

 private:
  std::atomic<std::byte*>& seen_;
};

// Groups whose members are threads of this process.
class ProcessGroup : public testing::Test {
 protected:
  // Connects all members, or each with its next `reach` ranks.
  void open(int size, milliseconds silence = kLong, int reach = 1024) {
    meetings_ = std::make_unique<Meetings>(size);
    std::vector<Watch> watches(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) {
      Watch& watch = watches[static_cast<std::size_t>(rank)];
      watch.rank = rank;
      watch.silence = silence;
      watch.settling = settling_;
      watch.longest_parting = kLong;
      watch.parted = [this] { ++parted_; };
      watch.sockets.assign(static_cast<std::size_t>(size), -1);
    }
    for (int a = 0; a < size; ++a) {
      for (int b = a + 1; b < size; ++b) {
        if (b - a > reach && a + size - b > reach) continue;
        int pair[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
        watches[static_cast<std::size_t>(a)].sockets[static_cast<std::size_t>(b)] = pair[0];
        watches[static_cast<std::size_t>(b)].sockets[static_cast<std::size_t>(a)] = pair[1];
      }
    }
    for (int rank = 0; rank < size; ++rank) {
      groups_.push_back(std::make_unique<Group>(watches[static_cast<std::size_t>(rank)]));
      groups_.back()->take(std::make_unique<MeetingExecutor>(*meetings_, rank, groups_.back()->failure_word()));
    }
  }

  // Lets all members but one complete a collective, which that one has only begun.
  void complete_on_all_but(int slow) {
    calls_.resize(groups_.size());
    for (int rank = 0; rank < static_cast<int>(groups_.size()); ++rank) {
      if (rank == slow) group(rank).take(std::make_unique<SlowExecutor>(may_end_, group(rank).failure_word()));
      else group(rank).take(std::make_unique<LastExecutor>());
      const Status expected = rank == slow ? Status::kWaiting : Status::kDone;
      EXPECT_EQ(group(rank).try_execute(calls_[static_cast<std::size_t>(rank)], milliseconds(0), milliseconds(0)), expected);
    }
  }

  // Lets ranks `from` to the last one arrive at a call, and waits until each of them knows that the
  // others have.
  void arrive(int from) {
    std::vector<int> missing;
    for (int rank = 0; rank < from; ++rank) missing.push_back(rank);
    calls_.resize(groups_.size());
    for (int rank = from; rank < static_cast<int>(groups_.size()); ++rank) {
      EXPECT_EQ(group(rank).try_execute(calls_[static_cast<std::size_t>(rank)], milliseconds(0), milliseconds(0)), Status::kWaiting);
    }
    for (int rank = from; rank < static_cast<int>(groups_.size()); ++rank) {
      group(rank).monitor().ask(group(rank).sequence());
      while (group(rank).absent() != missing) std::this_thread::yield();
    }
  }

  Group& group(int rank) { return *groups_[static_cast<std::size_t>(rank)]; }

  // The results of a call on ranks `from` to the last one, each in a thread of its own.
  std::vector<Status> execute(int from, Group::Deadline deadline = std::nullopt) {
    std::vector<Status> statuses(groups_.size(), Status::kDone);
    std::vector<std::thread> threads;
    for (std::size_t rank = static_cast<std::size_t>(from); rank < groups_.size(); ++rank) {
      threads.emplace_back([&, rank] {
        Call call{};
        call.state[4] = states_.empty() ? 0 : states_[rank];
        statuses[rank] = groups_[rank]->execute(call, deadline);
        if (statuses[rank] == Status::kDone || statuses[rank] == Status::kFailed) return;
        groups_[rank]->monitor().fail({FailureKind::kDeadline, static_cast<int>(rank), "too late on " + std::to_string(rank)});
        EXPECT_EQ(groups_[rank]->execute(call, std::nullopt), Status::kFailed);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return statuses;
  }

  // The time to wait for failures of other members. Longer in tests in which all members report
  // one, however late.
  milliseconds settling_ = Watch().settling;
  std::atomic<int> parted_{0};
  std::atomic<bool> may_end_{false};
  std::vector<Call> calls_;
  std::unique_ptr<Meetings> meetings_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<double> states_;
};

TEST_F(ProcessGroup, ExecutesOneCallAfterTheOther) {
  open(3);
  for (int i = 0; i < 100; ++i) {
    for (const Status status : execute(0)) EXPECT_EQ(status, Status::kDone);
  }
  EXPECT_EQ(group(1).sequence(), 100u);
}

TEST_F(ProcessGroup, ReportsOneFailureOnAllMembersThatDetectDifferentFailures) {
  settling_ = kLong;
  for (int round = 0; round < 20; ++round) {
    groups_.clear();
    open(4);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([this, rank] { group(rank).monitor().fail({FailureKind::kFailed, 3 - rank, "of " + std::to_string(rank)}); });
    }
    for (std::thread& thread : threads) thread.join();
    const Failure first = group(0).monitor().settled_failure();
    for (int rank = 1; rank < 4; ++rank) {
      const Failure other = group(rank).monitor().settled_failure();
      EXPECT_EQ(other.rank, first.rank);
      EXPECT_EQ(other.text, first.text);
    }
  }
}

TEST_F(ProcessGroup, NamesTheRankThatNeverArrives) {
  settling_ = kLong;
  open(3);
  arrive(1);
  const auto statuses = execute(1, Clock::now());
  const bool has_expired = statuses[1] == Status::kExpired || statuses[2] == Status::kExpired;
  EXPECT_TRUE(has_expired);
  const int rank = statuses[1] == Status::kExpired ? 1 : 2;
  EXPECT_EQ(group(rank).missing(), std::vector<int>{0});
  EXPECT_EQ(group(1).monitor().settled_failure().text, group(2).monitor().settled_failure().text);
}

TEST_F(ProcessGroup, DetectsTheRankThatMakesAnotherCall) {
  open(3);
  states_ = {4, 4, 5};
  // Some ranks do not arrive, so that only the monitors can detect the failure.
  const auto statuses = execute(1);
  const bool has_disagreed = statuses[1] == Status::kDisagreed || statuses[2] == Status::kDisagreed;
  EXPECT_TRUE(has_disagreed);
  const int rank = statuses[1] == Status::kDisagreed ? 1 : 2;
  const auto& states = group(rank).states();
  EXPECT_FALSE(states[0]);
  ASSERT_TRUE(states[1] && states[2]);
  EXPECT_EQ((*states[1])[4], 4);
  EXPECT_EQ((*states[2])[4], 5);
}

TEST_F(ProcessGroup, DetectsALostMemberAtOnce) {
  open(3);
  std::thread late([this] {
    std::this_thread::sleep_for(milliseconds(20));
    groups_[0].reset();
  });
  const auto begin = Clock::now();
  const auto statuses = [this] {
    std::vector<Status> found(3, Status::kDone);
    std::thread other([&] {
      Call call{};
      found[2] = groups_[2]->execute(call, std::nullopt);
    });
    Call call{};
    found[1] = groups_[1]->execute(call, std::nullopt);
    other.join();
    return found;
  }();
  late.join();
  EXPECT_LT(Clock::now() - begin, kLong / 2);
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(statuses[static_cast<std::size_t>(rank)], Status::kFailed);
    const Failure failure = group(rank).monitor().settled_failure();
    EXPECT_EQ(failure.kind, FailureKind::kLost);
    EXPECT_EQ(failure.rank, 0);
  }
}

// Each member has connections with the next and the previous rank only.
constexpr int kRing = 1;

TEST_F(ProcessGroup, ReportsAFailureToMembersWithoutAConnection) {
  open(12, kLong, kRing);
  group(3).monitor().fail({FailureKind::kFailed, 3, "of rank 3"});
  for (int rank = 0; rank < 12; ++rank) {
    while (!group(rank).has_failed()) std::this_thread::yield();
    EXPECT_EQ(group(rank).monitor().settled_failure().text, "of rank 3");
  }
}

TEST_F(ProcessGroup, NamesALostMemberOnMembersWithoutAConnection) {
  open(12, kLong, kRing);
  groups_[4].reset();
  for (int rank = 0; rank < 12; ++rank) {
    if (rank == 4) continue;
    while (!group(rank).has_failed()) std::this_thread::yield();
    const Failure failure = group(rank).monitor().settled_failure();
    EXPECT_EQ(failure.kind, FailureKind::kLost);
    EXPECT_EQ(failure.rank, 4);
  }
}

TEST_F(ProcessGroup, NamesMissingRanksWithoutAConnection) {
  open(12, kLong, kRing);
  arrive(2);
  const auto statuses = execute(2, Clock::now());
  const auto expired = std::find(statuses.begin(), statuses.end(), Status::kExpired);
  ASSERT_NE(expired, statuses.end());
  EXPECT_EQ(group(static_cast<int>(expired - statuses.begin())).missing(), (std::vector<int>{0, 1}));
}

TEST_F(ProcessGroup, LearnsFromNeighboursWhoHasOpened) {
  open(12, milliseconds(500));
  for (int rank = 1; rank < 12; ++rank) group(rank).monitor().tell_opened();
  // Members report their opening while others have not opened the group.
  while (group(6).monitor().unopened() != std::vector<int>{0}) std::this_thread::yield();
  group(0).monitor().tell_opened();
  for (int rank = 0; rank < 12; ++rank) {
    while (!group(rank).monitor().unopened().empty()) std::this_thread::yield();
  }
}

// Members that leave must pass on the loss: none of the remaining members has a connection with the
// lost one.
TEST_F(ProcessGroup, PassesOnALossWhileItLeaves) {
  open(12, kLong, kRing);
  complete_on_all_but(6);
  for (const int rank : {1, 2, 3, 4, 5, 7, 8, 9, 10, 11}) group(rank).monitor().leave();
  groups_[0].reset();
  EXPECT_EQ(group(6).execute(calls_[6], std::nullopt), Status::kFailed);
  const Failure failure = group(6).monitor().settled_failure();
  EXPECT_EQ(failure.kind, FailureKind::kLost);
  EXPECT_EQ(failure.rank, 0);
}

TEST_F(ProcessGroup, StaysConnectedUntilAllHaveCompletedItsCalls) {
  open(12, kLong, kRing);
  complete_on_all_but(6);
  for (int rank = 0; rank < 12; ++rank) {
    if (rank != 6) group(rank).monitor().leave();
  }
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(parted_.load(), 0);
  may_end_ = true;
  EXPECT_EQ(group(6).execute(calls_[6], std::nullopt), Status::kDone);
  const auto limit = Clock::now() + kLong / 2;
  while (parted_.load() < 11 && Clock::now() < limit) std::this_thread::yield();
  EXPECT_EQ(parted_.load(), 11);
}

// A member of a group; the other members are bare sockets.
struct Lone {
  explicit Lone(int size, milliseconds silence, milliseconds settling = Watch().settling) : most_late(silence / 5) {
    Watch watch;
    watch.silence = silence;
    watch.settling = settling;
    for (int rank = 0; rank < size; ++rank) {
      int pair[2] = {-1, -1};
      if (rank > 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) throw std::bad_alloc();
      watch.sockets.push_back(pair[0]);
      others.push_back(pair[1]);
    }
    group = std::make_unique<Group>(std::move(watch));
  }
  ~Lone() {
    for (const int other : others) {
      if (other >= 0) close(other);
    }
  }
  bool try_to_say(int rank, const std::string& frame) const { return send(others[static_cast<std::size_t>(rank)], frame.data(), frame.size(), MSG_NOSIGNAL) > 0; }
  void say(int rank, const std::string& frame) const { ASSERT_TRUE(try_to_say(rank, frame)); }
  void hang_up(int rank) { close(std::exchange(others[static_cast<std::size_t>(rank)], -1)); }
  Failure failure() const {
    while (!group->has_failed()) std::this_thread::sleep_for(milliseconds(5));
    return group->monitor().settled_failure();
  }
  // The failure of the member while the ranks `beating` continue to send beats. Returns none if
  // this thread was suspended and sent beats late.
  std::optional<Failure> failure_beside(const std::vector<int>& beating) {
    while (!group->has_failed()) {
      // A beat may not fit, because the member has not read for long.
      for (const int rank : beating) try_to_say(rank, beat_frame());
      std::this_thread::sleep_for(milliseconds(5));
      const auto now = Clock::now();
      if (now - latest > most_late) return std::nullopt;
      latest = now;
    }
    return group->monitor().settled_failure();
  }

  const milliseconds most_late;
  Clock::time_point latest = Clock::now();  // when the others were last heard
  std::vector<int> others;
  std::unique_ptr<Group> group;
};

// Repeats an attempt until no beat of this thread was late.
template <class Attempt>
Failure in_time(Attempt attempt) {
  std::optional<Failure> failure;
  while (!failure) failure = attempt();
  return *failure;
}

TEST_F(ProcessGroup, BlamesItselfIfAllOfSeveralOthersAreSilent) {
  const Failure failure = Lone(4, milliseconds(200)).failure();
  EXPECT_EQ(failure.kind, FailureKind::kLost);
  EXPECT_EQ(failure.rank, 0);
  EXPECT_EQ(failure.text, "was lost: it has received nothing from any other rank for 0.24 seconds; it is cut off from the network, or all other ranks are");
}

TEST_F(ProcessGroup, BlamesTheSilentMemberIfItHearsTheOthers) {
  const Failure failure = in_time([] { return Lone(4, milliseconds(400)).failure_beside({1, 3}); });
  EXPECT_EQ(failure.kind, FailureKind::kLost);
  EXPECT_EQ(failure.rank, 2);
}

// The last beat may have been sent almost a fifth of the silence limit before the silence began.
TEST_F(ProcessGroup, WaitsOneHeartbeatLongerThanTheSilenceLimit) {
  for (bool is_in_time = false; !is_in_time;) {
    const Lone lone(2, milliseconds(400));
    const auto begin = Clock::now();
    lone.say(1, beat_frame());
    is_in_time = !lone.group->monitor().catch_up();
    lone.failure();
    if (is_in_time) {
      EXPECT_GE(Clock::now() - begin, milliseconds(480));
    }
  }
}

// After a cut, some of the others are heard sooner than the rest.
TEST_F(ProcessGroup, BlamesNoMemberForASilenceOfAllMembers) {
  Clock::time_point end{};
  const Failure failure = in_time([&]() -> std::optional<Failure> {
    Lone lone(4, milliseconds(1000));
    std::this_thread::sleep_for(milliseconds(700));
    end = Clock::now();
    if (end - lone.latest > milliseconds(900)) return std::nullopt;
    lone.latest = end;
    return lone.failure_beside({1, 3});
  });
  EXPECT_EQ(failure.rank, 2);
  EXPECT_GE(Clock::now() - end, milliseconds(1200));
}

TEST_F(ProcessGroup, TellsOfASilenceThatHasEnded) {
  std::vector<Silence> silences;
  milliseconds most{};
  // Again if this process was suspended.
  while (silences.empty()) {
    const auto begin = Clock::now();
    const Lone lone(2, milliseconds(2000));
    std::this_thread::sleep_for(milliseconds(1100));
    if (!lone.try_to_say(1, beat_frame())) continue;
    lone.group->monitor().catch_up();
    most = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    silences = lone.group->monitor().take_silences();
    EXPECT_TRUE(lone.group->monitor().take_silences().empty());
  }
  ASSERT_EQ(silences.size(), 1u);
  EXPECT_EQ(silences[0].rank, 1);
  EXPECT_GE(silences[0].length, milliseconds(1000));
  EXPECT_LE(silences[0].length, most);
}

TEST_F(ProcessGroup, BlamesTheOtherOfTwoMembers) { EXPECT_EQ(Lone(2, milliseconds(200)).failure().rank, 1); }

TEST_F(ProcessGroup, NamesTheSenderOfAFailureWithAnImpossibleRank) {
  for (const int rank : {2147483647, -5, 3, kMostRank}) {
    Lone lone(3, kLong);
    lone.say(2, failure_frame({FailureKind::kFailed, rank, "of a stranger"}));
    EXPECT_EQ(lone.failure().rank, 2);
  }
}

TEST_F(ProcessGroup, OmitsImpossibleRanksFromAFailure) {
  Lone lone(3, kLong);
  lone.say(2, failure_frame({FailureKind::kFailed, 1, "of a stranger", 0, {-1, 0, 2147483647, kMostRank, 3}}));
  EXPECT_EQ(lone.failure().ranks, (std::vector<std::int32_t>{0}));
}

TEST_F(ProcessGroup, AcceptsTheRanksThatTheEnclosingGroupHas) {
  Lone lone(3, kLong);
  lone.group->monitor().enclose(6);
  lone.say(2, failure_frame({FailureKind::kFailed, 8, "of a replica", 0, {3, 9}}));
  EXPECT_EQ(lone.failure().rank, 8);
  EXPECT_EQ(lone.failure().ranks, (std::vector<std::int32_t>{3}));
}

TEST_F(ProcessGroup, ReportsLostMembersBesidesTheOneThatFailed) {
  Lone lone(4, kLong, kLong);
  lone.say(2, failure_frame({FailureKind::kFailed, 2, "ended with exit code 7"}));
  while (!lone.group->has_failed()) std::this_thread::yield();
  lone.hang_up(2);
  lone.hang_up(1);
  lone.hang_up(3);
  EXPECT_EQ(lone.failure().lost, (std::vector<std::int32_t>{1, 3}));
}

TEST_F(ProcessGroup, KnowsWhoHasLeft) {
  Lone lone(3, kLong);
  lone.say(2, left_frame({2, 0}));
  while (lone.group->monitor().leavers().empty()) std::this_thread::yield();
  EXPECT_EQ(lone.group->monitor().leavers(), (std::vector<int>{2}));
}

TEST_F(ProcessGroup, NamesAllMembersThatAreLostTogether) {
  Lone lone(5, kLong, kLong);
  lone.hang_up(3);
  while (!lone.group->has_failed()) std::this_thread::yield();
  lone.hang_up(1);
  // A loss reported by another rank counts as well, but the end of that rank's connection does not.
  lone.say(2, failure_frame({FailureKind::kLost, 4, "was lost: of 2"}));
  lone.hang_up(2);
  const Failure failure = lone.failure();
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.ranks, (std::vector<std::int32_t>{3, 4}));
  EXPECT_EQ(failure.text, "was lost: its process or its connection has ended");
}

TEST_F(ProcessGroup, NamesAllMembersThatFallSilentTogether) {
  const Failure failure = in_time([] {
    Lone lone(4, milliseconds(1000));
    lone.say(1, beat_frame());
    return lone.failure_beside({2});
  });
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.ranks, std::vector<std::int32_t>{3});
}

// By default, TCP stays silent for up to twice as long as a cut of the network.
TEST_F(ProcessGroup, RetransmitsSoonOnControlConnections) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const ControlConnection control(listener);
  int is_on = 0;
  socklen_t size = sizeof is_on;
  ASSERT_EQ(getsockopt(listener, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &is_on, &size), 0);
  EXPECT_EQ(is_on, 1);
}

// Two addresses count as two hosts.
TEST_F(ProcessGroup, AllowsForTheRetransmissionDelayOfTcpBetweenHosts) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 2), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto connection_from = [&](std::uint32_t host) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(host);
    const int connected = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(bind(connected, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(connect(connected, reinterpret_cast<sockaddr*>(&address), size), 0);
    return connected;
  };
  const ControlConnection within(connection_from(INADDR_LOOPBACK));
  EXPECT_EQ(within.delay_after(milliseconds(9000)), milliseconds(0));
  const ControlConnection between(connection_from(INADDR_LOOPBACK + 1));
  const milliseconds delay = between.delay_after(milliseconds(9000));
  // Before Linux 6.15 nothing bounds the pauses of TCP.
  EXPECT_TRUE(delay == milliseconds(1500) || delay == milliseconds(9500)) << delay.count();
  EXPECT_EQ(between.delay_after(milliseconds(300)), milliseconds(800));
  close(listener);
}

TEST_F(ProcessGroup, LetsMembersFinishCallsOfAMemberThatLeaves) {
  open(2);
  execute(0);
  group(0).monitor().leave();
  const auto statuses = execute(1);
  EXPECT_EQ(statuses[1], Status::kFailed);
  const Failure failure = group(1).monitor().settled_failure();
  EXPECT_EQ(failure.kind, FailureKind::kClosed);
  EXPECT_EQ(failure.text, "has left the group");
}

TEST_F(ProcessGroup, ReportsTheFailureOfAMemberThatIsAboutToLeave) {
  open(2);
  group(0).monitor().leave(std::chrono::hours(1));
  std::thread member([this] { EXPECT_EQ(execute(1)[1], Status::kFailed); });
  group(0).monitor().fail({FailureKind::kFailed, 0, "ended with exit code 1: disk full"});
  member.join();
  EXPECT_EQ(group(1).monitor().settled_failure().text, "ended with exit code 1: disk full");
}

TEST_F(ProcessGroup, LeavesAfterTheEarliestOfTheGivenTimes) {
  open(2);
  for (const milliseconds delay : {milliseconds(3600000), milliseconds(20), milliseconds(3600000)}) group(0).monitor().leave(delay);
  EXPECT_EQ(execute(1)[1], Status::kFailed);
  EXPECT_EQ(group(1).monitor().settled_failure().kind, FailureKind::kClosed);
}

TEST_F(ProcessGroup, LetsMembersFinishCallsOfAMemberThatFails) {
  open(2);
  std::atomic<bool> may_end{false};
  group(0).take(std::make_unique<LastExecutor>());
  group(1).take(std::make_unique<SlowExecutor>(may_end, group(1).failure_word()));
  Call calls[2]{};
  EXPECT_EQ(group(1).try_execute(calls[1], milliseconds(0), milliseconds(0)), Status::kWaiting);
  EXPECT_EQ(group(0).execute(calls[0], std::nullopt), Status::kDone);
  group(0).monitor().fail({FailureKind::kFailed, 0, "of the caller"});
  // An answer arrives after all messages that were sent before it.
  group(1).monitor().ask(0);
  while (!group(1).monitor().answers(milliseconds(100))[0]) continue;
  EXPECT_FALSE(group(1).has_failed());
  may_end = true;
  EXPECT_EQ(group(1).execute(calls[1], std::nullopt), Status::kDone);
  may_end = false;
  EXPECT_EQ(group(1).execute(calls[1], std::nullopt), Status::kFailed);
  EXPECT_EQ(group(1).monitor().settled_failure().text, "of the caller");
}

TEST_F(ProcessGroup, ReportsWhyALostMemberHadFailed) {
  open(2);
  std::atomic<bool> may_end{false};
  group(0).take(std::make_unique<LastExecutor>());
  group(1).take(std::make_unique<SlowExecutor>(may_end, group(1).failure_word()));
  Call calls[2]{};
  EXPECT_EQ(group(1).try_execute(calls[1], milliseconds(0), milliseconds(0)), Status::kWaiting);
  EXPECT_EQ(group(0).execute(calls[0], std::nullopt), Status::kDone);
  group(0).monitor().fail({FailureKind::kFailed, 0, "of the caller"});
  groups_[0].reset();
  EXPECT_EQ(group(1).execute(calls[1], std::nullopt), Status::kFailed);
  EXPECT_EQ(group(1).monitor().settled_failure().text, "of the caller");
}

TEST_F(ProcessGroup, ReceivesAFailureBeforeACallWithoutOtherRanksEnds) {
  for (int round = 0; round < 100; ++round) {
    groups_.clear();
    open(3);
    group(0).take(std::make_unique<LastExecutor>());
    Call call{};
    ASSERT_EQ(group(0).execute(call, std::nullopt), Status::kDone);
    group(2).monitor().fail({FailureKind::kDeadline, 2, "too late"});
    // The other members take a moment to learn of the failure.
    ASSERT_EQ(group(0).execute(call, std::nullopt), Status::kFailed);
    EXPECT_EQ(group(0).monitor().settled_failure().text, "too late");
  }
}

// A test executor that throws std::bad_alloc.
class PoorExecutor : public Executor {
 public:
  Status execute(Offer&, std::chrono::microseconds, std::chrono::microseconds) override { throw std::bad_alloc(); }
  void abandon() override {}
};

TEST_F(ProcessGroup, FailsOnAllMembersIfOneIsOutOfMemory) {
  open(2);
  group(0).take(std::make_unique<PoorExecutor>());
  for (const Status status : execute(0)) EXPECT_EQ(status, Status::kFailed);
  EXPECT_EQ(group(1).monitor().settled_failure().text, "is out of memory");
}

TEST_F(ProcessGroup, ReturnsToTheCallerAfterItsPatience) {
  open(2);
  Call call{};
  EXPECT_EQ(group(1).execute(call, std::nullopt, milliseconds(30)), Status::kWaiting);
  const auto begin = Clock::now();
  EXPECT_EQ(group(1).execute(call, begin + milliseconds(30), milliseconds(5000)), Status::kExpired);
}

TEST_F(ProcessGroup, TreatsAMemberThatSendsNoiseAsLost) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
  Watch watch;
  watch.sockets = {-1, pair[0]};
  Group alone(std::move(watch));
  // Noise that fills the reader's buffer for one frame.
  const std::string noise(kMostFrameBytes + 4, 'x');
  ASSERT_EQ(send(pair[1], noise.data(), noise.size(), MSG_NOSIGNAL), static_cast<ssize_t>(noise.size()));
  const auto begin = Clock::now();
  while (!alone.has_failed() && Clock::now() - begin < kLong) std::this_thread::yield();
  EXPECT_EQ(alone.monitor().settled_failure().kind, FailureKind::kLost);
  close(pair[1]);
}

TEST_F(ProcessGroup, RunsCallsInItsOwnThread) {
  open(2);
  std::atomic<int> wakes{0};
  Runner first(group(0), [&] { ++wakes; });
  Runner second(group(1), [&] { ++wakes; });
  Call calls[2]{};
  for (std::uint32_t id = 0; id < 50; ++id) {
    first.submit({id, &calls[0], milliseconds(0)});
    second.submit({id, &calls[1], milliseconds(0)});
  }
  std::vector<Runner::Result> results;
  while (results.size() < 50) {
    const auto some = first.take_results();
    results.insert(results.end(), some.begin(), some.end());
    std::this_thread::yield();
  }
  for (std::uint32_t id = 0; id < 50; ++id) {
    EXPECT_EQ(results[id].id, id);
    EXPECT_EQ(results[id].status, Status::kDone);
  }
  EXPECT_GT(wakes.load(), 0);
  group(0).monitor().fail_here("has ended");
}

TEST_F(ProcessGroup, RecordsCallsInItsOwnThread) {
  open(1);
  std::atomic<std::byte*> seen{nullptr};
  group(0).take(std::make_unique<RecordedExecutor>(seen));
  std::byte entry{};
  Call call{};
  Runner runner(group(0), [] {});
  const auto seen_for = [&](std::byte* recorded) {
    runner.submit({0, &call, milliseconds(0), recorded});
    while (runner.take_results().empty()) std::this_thread::yield();
    return seen.load();
  };
  EXPECT_EQ(seen_for(&entry), &entry);
  EXPECT_EQ(seen_for(nullptr), nullptr);
  group(0).monitor().fail_here("has ended");
}

}  // namespace
}  // namespace coll::test

#endif
