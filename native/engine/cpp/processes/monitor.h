#pragma once

#if defined(__linux__)

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calls.h"
#include "executor.h"
#include "failure.h"
#include "watch.h"
#include "watched_members.h"

namespace coll {

// Watches over the members of a group, in a thread of its own: it hears when one is lost, fails or leaves, and tells the others what
// happens here.
//
// A group fails once. Every member tells all others the first failure that it hears of, and waits for what they tell it; of all those,
// each takes the first by precedence. So all raise the same error, even if they found out different things at the same time.
class Monitor {
 public:
  // Takes the sockets over. Throws Error where the system has no more threads or descriptors.
  Monitor(Watch watch, Calls& calls, FailureWord& word);
  // Ends the connections without a word.
  ~Monitor();

  // The following may be called by any thread.

  // Tells the others that this rank has opened the group.
  void tell_opened();
  // Who has not yet.
  std::vector<int> unopened();
  // Fails the group on every rank, unless it has failed already. Other ranks first complete the collectives that this rank has completed.
  void fail(Failure failure);
  // The same for a collective that a member who has left does not take part in.
  void fail_for_leaver();
  // Takes in what the others have told by now. True where the group has ended.
  bool catch_up();
  // A connection for data to a rank has ended, with that error or 0: whether it has left or is lost shows here.
  void suspect(int rank, int error);
  // What came over a connection for data is no message that the rank can have sent.
  void fail_for_garbled(int rank);
  // Waits until all members have told their failures, or some hundred milliseconds.
  Failure settled_failure();
  // Asks all others about a collective, and forgets older answers.
  void ask(std::uint64_t sequence);
  // Waits until all have answered, but no longer than that: what each has said; none where it has not, or is gone.
  std::vector<std::optional<Answer>> answers(std::chrono::milliseconds patience);
  // Tells the others that this rank takes part in no more collectives than it has ended; ends the connections once they have read that.
  void leave();
  // Ends the group because of this rank; how completes the sentence.
  void fail_here(const std::string& how);

 private:
  using Lock = std::unique_lock<std::mutex>;

  void run();
  bool watch();
  void turn(Clock::time_point now);
  void await_events();
  void read(int rank, Clock::time_point now);
  void take(int rank, const Frame& frame);
  void part(WatchedMember& peer);
  void lose(int rank, const std::string& how);
  void look_after(Clock::time_point now);
  bool are_all_silent(Clock::time_point now) const;
  bool is_news(const Failure& loss);
  void adopt(const Failure& failure);
  void hear_of(const Failure& failure);
  bool is_settled(Clock::time_point now) const;
  void decide();
  bool has_parted(Clock::time_point now) const;
  void wake();

  const Watch watch_;
  Calls& calls_;
  FailureWord& word_;
  int event_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  WatchedMembers peers_;
  std::optional<Failure> failure_;
  // A failure reported by another rank, kept until this rank has completed the collectives before it.
  std::optional<Failure> pending_;
  // How each lost rank was lost. The rank of the failure is one of them; others lost with it become known a moment later.
  std::map<int, std::string> lost_;
  // Why this rank cannot go on, and whose connection shows it, if one does.
  std::string suspicion_ = "its transport has failed";
  std::vector<std::int32_t> suspected_;
  Clock::time_point failed_at_{};
  bool is_decided_ = false;
  std::optional<std::uint64_t> asked_;
  std::optional<Clock::time_point> leaving_since_;
  bool must_end_ = false;
  bool has_ended_ = false;
  std::uint64_t turns_ = 0;
  Clock::time_point last_turn_{};
  Clock::time_point last_beat_{};
  std::thread thread_;
};

}  // namespace coll

#endif
