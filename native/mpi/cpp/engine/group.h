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

// A group's communicators: one for data; one for fingerprints, so that these meet even if calls differ; one for notes.
struct Comms {
  MpiHandle data;
  MpiHandle check;
  MpiHandle control;
};

// One rank of a group. It executes one call at a time: compares it with the other ranks' if it is new, then moves the
// data. All functions require that the thread owns MPI.
class Group {
 public:
  Group(Mpi& mpi, const Types& types, Comms comms, int rank, int size);

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Comms& comms() const { return comms_; }

  // Begins a call, which the next step starts. `millis`: its timeout, 0 for none. `is_checked`: compares it even if it is known.
  void begin(std::shared_ptr<const Plan> plan, double millis, bool is_checked);
  // Moves the call on. `is_due`: also reads notes and looks at the clock.
  void step(bool is_due);
  Status status() const { return status_; }
  // What each rank announced, if the call's status is kDisagreed.
  const std::vector<double>& announcements() const { return announcements_; }
  // Whether the call that has ended left memory to MPI for good.
  bool keeps_memory() const { return is_abandoned_; }

  const std::optional<Failure>& failure() const { return failure_; }
  // Ends the group with this failure, unless it has failed before, and tells the others if wanted.
  void fail(Failure failure, bool tells = true);
  // Leaves the group. Sends the number of calls that this rank has made to the other ranks.
  void leave();
  // Makes no more calls of MPI, which has ended or is about to.
  void cut();

  void post(int to, Bytes bytes) {
    if (!is_cut_) control_.send(to, Note::kPost, std::move(bytes));
  }
  // Posts of other ranks, and notes that a rank has left, in the order in which they came.
  std::deque<Received> events;
  // Whether a program waits for posts, so that the group looks for them often.
  bool is_listening = false;
  // Called when there is something for the program: events, or the end of a call that it does not wait for.
  std::function<void()> wake;
  bool is_awaited = false;

  bool is_busy() const { return status_ == Status::kPending || is_listening; }
  // Whether nothing of this group can come any more. A call that has failed may still use the communicators.
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
  // Set while the others are asked how far they are: by rank, the number of calls begun, -1 if unknown.
  std::optional<Clock::time_point> asked_until_;
  std::vector<std::int64_t> arrivals_;

  std::optional<Failure> failure_;
  // The number of calls that ranks which have left had made; -1 for others.
  std::vector<std::int64_t> left_;
  bool is_closed_ = false;
  bool is_cut_ = false;
};

}  // namespace coll
