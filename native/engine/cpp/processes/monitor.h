#pragma once

#if defined(__linux__)

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calls.h"
#include "data_connections.h"
#include "executor.h"
#include "failure.h"
#include "questions.h"
#include "roll.h"
#include "watch.h"
#include "watched_members.h"

namespace coll {

constexpr const char* kHasLeft = "has left the group";

// A time in which nothing was received from a member, which was heard again afterwards.
struct Silence {
  int rank;
  std::chrono::milliseconds length;
};

// Watches the members of a group in a thread of its own: detects when a member is lost, fails or
// leaves, and reports this rank's failures to the other members.
//
// A member has connections with some other members, its neighbours, and watches these. Neighbours
// pass on news to their neighbours, unless these know it already. So news reaches every member, as
// long as there is a path between the two.
//
// A group fails once. Every member sends the first failure that it finds to all others and waits
// for theirs. Each member then takes the first of all these failures in the order of precedence. So
// all members raise the same error, even if they found different failures at the same time.
class Monitor {
 public:
  // Takes the sockets over. Throws Error if the system has no more threads or descriptors.
  Monitor(Watch watch, Calls& calls, FailureWord& word);
  // Closes the connections without informing the other members.
  ~Monitor();

  // The following may be called by any thread.

  // Reports to the other members that this rank has opened the group.
  void tell_opened();
  // The ranks that have not opened the group yet.
  std::vector<int> unopened();
  // The ranks that have left.
  std::vector<int> leavers();
  // Failures may name ranks of an enclosing group of this many ranks from now on.
  void enclose(int ranks);
  // Fails the group on every rank, unless it has failed already. Other ranks first complete the
  // collectives that this rank has completed.
  void fail(Failure failure);
  // Like fail(), for a collective in which a member that has left takes no part.
  void fail_for_leaver();
  // Serves these data connections while no call does, until the group fails or this rank leaves.
  void serve(std::shared_ptr<DataConnections> data);
  // Reads all messages that have arrived. Returns whether the group has failed.
  bool catch_up();
  // Reports that a data connection to `rank` has ended, with errno `error` or 0. The monitor finds
  // out whether the rank has left or is lost.
  void suspect(int rank, int error);
  // Reports that a data connection has delivered bytes that the rank cannot have sent.
  void fail_for_garbled(int rank);
  // Waits until all members have reported their failures, or for some hundred milliseconds.
  Failure settled_failure();
  // Asks all others about a collective, unless any member has done so during the last `recently`.
  void ask(std::uint64_t sequence, std::chrono::milliseconds recently = std::chrono::milliseconds(0));
  // Waits at most `patience` until all have answered. Returns each rank's last answer; none for a
  // rank that never answered.
  std::vector<std::optional<Answer>> answers(std::chrono::milliseconds patience);
  // Reports to the other members that this rank takes part in no more collectives. Closes the
  // connections once they have read this. During `delay` the rank may still fail the group, for
  // example because its process ends with an error. A group that has failed is left at once.
  void leave(std::chrono::milliseconds delay = std::chrono::milliseconds(0));
  // Fails the group because of this rank. `how` completes the sentence about it.
  void fail_here(const std::string& how);
  // The silences that have ended since the last call, if they were longer than half of the limit.
  std::vector<Silence> take_silences();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void run();
  bool watch();
  void turn(Clock::time_point now);
  void await_events();
  void read(int rank, Clock::time_point now);
  void take(int rank, const Frame& frame);
  void take_failure(int rank, const Frame& frame);
  bool may_name(int rank) const;
  void take_leave(int from, const Frame& frame);
  void begin_leaving();
  bool is_leaving_due(Clock::time_point now) const;
  void begin_round(Question& question, const Asked& asked, int except);
  bool have_answered();
  void lose(int rank, const std::string& how);
  void look_after(Clock::time_point now);
  void serve_data();
  bool are_all_silent(Clock::time_point now) const;
  bool is_news(const Failure& failure);
  void spread(const Failure& failure);
  void adopt(const Failure& failure);
  void hear_of(const Failure& failure);
  bool is_settled(Clock::time_point now) const;
  void decide();
  void pass_on_opened();
  void pass_on_completed();
  void end_connections();
  void flush(Clock::time_point now);
  bool has_parted(Clock::time_point now) const;
  void send_now();
  void wake();

  const Watch watch_;
  Calls& calls_;
  FailureWord& word_;
  int event_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  WatchedMembers peers_;
  std::shared_ptr<DataConnections> data_;
  // The time for which frames are collected and then sent together, unless they are urgent: in a
  // large group, many frames arrive at the same time.
  const std::chrono::milliseconds batch_;
  std::optional<Failure> failure_;
  // A failure reported by another rank, kept until this rank has completed the collectives before it.
  std::optional<Failure> pending_;
  // The reason for each loss, by rank. The rank of the failure is one of them; others that were
  // lost with it become known a moment later.
  std::map<int, std::string> lost_;
  // The first failure in the order of precedence, other than a loss, that was reported to the neighbours.
  std::optional<Failure> spread_;
  // The reason why this rank cannot continue, and the rank whose connection shows the reason, if
  // any.
  std::string suspicion_ = "its transport has failed";
  std::vector<std::int32_t> suspected_;
  // The number of ranks of the enclosing group.
  int enclosing_ = 0;
  Clock::time_point failed_at_{};
  bool is_decided_ = false;
  // The ranks that have opened the group, and those that have announced a failure to all others.
  Roll opened_;
  Roll announced_;
  std::size_t opened_step_ = 1;
  Questions questions_;
  std::uint64_t asked_ = 0;
  std::uint32_t asked_round_ = 0;
  // owed_: the largest number of collectives that a member took part in before it left.
  // announced_completed_: the number of completed collectives that this rank has reported.
  std::optional<std::uint64_t> owed_;
  std::optional<std::uint64_t> announced_completed_;
  // When this rank will begin to leave, and when it has begun.
  std::optional<Clock::time_point> leaves_at_;
  std::optional<Clock::time_point> leaving_since_;
  std::vector<Silence> silences_;
  bool has_ended_connections_ = false;
  bool is_urgent_ = false;
  bool must_end_ = false;
  bool has_ended_ = false;
  std::uint64_t turns_ = 0;
  Clock::time_point last_turn_{};
  Clock::time_point last_beat_{};
  Clock::time_point last_flush_{};
  std::thread thread_;
};

}  // namespace coll

#endif
