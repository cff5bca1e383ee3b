#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "control.h"
#include "plan.h"
#include "transfer.h"

namespace coll {

using Clock = std::chrono::steady_clock;

enum class Status { kDone, kFailed, kDisagreed, kPending };

// The communicators of a group: one for data, one for notes, and one for fingerprints, which are
// compared even if the calls differ.
struct Comms {
  MpiHandle data;
  MpiHandle check;
  MpiHandle control;
};

// One rank of a group. It executes one call at a time: compares a new call with those of the other
// ranks, then transfers the data. The calling thread must own MPI.
class Group {
 public:
  Group(Mpi& mpi, const Types& types, Comms comms, int rank, int size);

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Comms& comms() const { return comms_; }

  // Begins a call, which the next step starts. `millis`: its timeout, 0 for none. `is_checked`: compares it even if it is known.
  void begin(std::shared_ptr<const Plan> plan, double millis, bool is_checked);
  // Makes progress on the call. `is_due`: also reads notes and checks the deadline.
  void step(bool is_due);
  Status status() const { return status_; }
  // The announcement of each rank, if the call's status is kDisagreed.
  const std::vector<double>& announcements() const { return announcements_; }
  // Whether MPI still uses memory of the call that has ended, and will for good.
  bool keeps_memory() const { return is_abandoned_; }

  const std::optional<Failure>& failure() const { return failure_; }
  // Ends the group with this failure, unless it has failed before. `tells`: sends the failure to
  // the other ranks.
  void fail(Failure failure, bool tells = true);
  // Leaves the group. Sends the number of calls that this rank has made to the other ranks.
  void leave();
  // From now on makes no calls of MPI, which has ended or is about to.
  void cut();

  void post(int to, Bytes bytes) {
    if (!is_cut_) control_.send(to, Note::kPost, std::move(bytes));
  }
  // Posts of other ranks, and notes that a rank has left, in order of arrival.
  std::deque<Received> events;
  // Whether a program waits for posts. If so, the group polls for them often.
  bool is_listening = false;
  // Called when there are events, or when a call has ended that no thread waits for.
  std::function<void()> wake;
  bool is_awaited = false;

  bool is_busy() const { return status_ == Status::kPending || is_listening; }
  // Whether no more messages of this group can arrive. A failed call may still use the
  // communicators.
  bool is_over();
  bool can_be_freed() const { return !failure_; }
  void free_comms();

 private:
  enum class Stage { kNew, kChecking, kMoving };

  void advance();
  bool compare();
  void move();
  void end(Status status);
  void read_notes();
  void watch_clock();
  void ask_who_has_arrived();
  void end_late();
  bool has_left(int rank) const { return left_[static_cast<std::size_t>(rank)] >= 0; }
  int earliest_leaver() const;
  template <class Tell>
  void tell_others(Tell tell);

  Mpi& mpi_;
  const Types& types_;
  const Comms comms_;
  const int rank_;
  const int size_;
  Control control_;
  Scratch scratch_;
  Transfer transfer_;

  std::shared_ptr<const Plan> plan_;
  Status status_ = Status::kDone;
  Stage stage_ = Stage::kNew;
  bool is_checked_ = false;
  MpiRequest request_{};
  bool is_under_way_ = false;
  bool is_abandoned_ = false;
  // Number of calls begun.
  std::uint64_t arrived_ = 0;
  std::vector<double> announcements_;
  std::unordered_set<std::uint64_t> known_;

  double millis_ = 0;
  Clock::time_point deadline_{};
  // Set while the other ranks are asked for the number of calls that they have begun; -1 for ranks
  // whose number is unknown.
  std::optional<Clock::time_point> asked_until_;
  std::vector<std::int64_t> arrivals_;

  std::optional<Failure> failure_;
  // The number of calls of each rank that has left; -1 for the others.
  std::vector<std::int64_t> left_;
  bool is_closed_ = false;
  bool is_cut_ = false;
};

}  // namespace coll
