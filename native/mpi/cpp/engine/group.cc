#include "group.h"

#include <algorithm>
#include <cstring>

#include "../error.h"

namespace coll {
namespace {

// The time for other ranks to report how many calls they have begun.
constexpr auto kAnswerTime = std::chrono::milliseconds(250);

std::uint64_t hash_of(const Plan& plan) {
  std::uint64_t hash = 1469598103934665603u;
  for (int i = 0; i < kShapeFields; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &plan.announcement[static_cast<std::size_t>(i)], sizeof bits);
    hash = (hash ^ bits) * 1099511628211u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

Group::Group(Mpi& mpi, const Types& types, Comms comms, int rank, int size)
    : mpi_(mpi),
      types_(types),
      comms_(comms),
      rank_(rank),
      size_(size),
      control_(mpi, comms.control),
      left_(static_cast<std::size_t>(size), -1) {}

void Group::begin(std::shared_ptr<const Plan> plan, double millis, bool is_checked) {
  plan_ = std::move(plan);
  millis_ = millis;
  if (millis > 0) deadline_ = Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(millis * 1000));
  asked_until_.reset();
  is_checked_ = is_checked;
  is_awaited = false;
  stage_ = Stage::kNew;
  status_ = Status::kPending;
  if (failure_) return end(Status::kFailed);
  ++arrived_;
}

void Group::step(bool is_due) {
  if (is_cut_) return;
  try {
    if (is_due) {
      read_notes();
      control_.flush();
    }
    if (status_ != Status::kPending) return;
    advance();
    if (status_ == Status::kPending && is_due) watch_clock();
  } catch (const Error& error) {
    fail({Reason::kFailed, rank_, {}, std::string("failed: MPI reports: ") + error.what()});
  }
}

void Group::advance() {
  if (stage_ == Stage::kNew) {
    if (size_ > 1 && (is_checked_ || known_.count(hash_of(*plan_)) == 0)) {
      stage_ = Stage::kChecking;
      announcements_.resize(static_cast<std::size_t>(size_) * kAnnouncedFields);
      mpi_.iall_gather(plan_->announcement.data(), announcements_.data(), kAnnouncedFields, types_.type(DType::kFloat64), comms_.check, request_);
      is_under_way_ = true;
    } else {
      move();
    }
  }
  while (status_ == Status::kPending) {
    if (is_under_way_ && !mpi_.test(request_)) return;
    is_under_way_ = false;
    if (stage_ == Stage::kChecking) {
      if (!compare()) return end(Status::kDisagreed);
      known_.insert(hash_of(*plan_));
      move();
      continue;
    }
    is_under_way_ = transfer_.start_next(mpi_, types_, comms_.data, request_);
    if (is_under_way_) continue;
    transfer_.finish();
    end(Status::kDone);
  }
}

void Group::move() {
  stage_ = Stage::kMoving;
  transfer_.prepare(*plan_, rank_, size_, scratch_);
}

bool Group::compare() {
  const double* const own = plan_->announcement.data();
  for (int rank = 0; rank < size_; ++rank) {
    const double* const other = announcements_.data() + static_cast<std::size_t>(rank) * kAnnouncedFields;
    if (!std::equal(own, own + kNegotiatedFields, other)) return false;
  }
  return true;
}

void Group::end(Status status) {
  status_ = status;
  // MPI cannot cancel a collective, so its memory stays in MPI's use.
  if (is_under_way_) is_abandoned_ = true;
  plan_.reset();
  if (is_awaited && wake) wake();
}

void Group::read_notes() {
  if (size_ == 1) return;
  while (auto received = control_.receive()) {
    const auto source = static_cast<std::size_t>(received->source);
    switch (received->note) {
      case Note::kFailure:
        fail(decode_failure(received->bytes), false);
        break;
      case Note::kQuery:
        if (!has_left(received->source)) control_.send(received->source, Note::kArrived, encode(arrived_));
        break;
      case Note::kArrived:
        if (asked_until_) arrivals_[source] = static_cast<std::int64_t>(decode_number(received->bytes));
        break;
      case Note::kLeft:
        left_[source] = static_cast<std::int64_t>(decode_number(received->bytes));
        [[fallthrough]];
      case Note::kPost:
        events.push_back(std::move(*received));
        if (wake) wake();
        break;
    }
  }
  if (status_ != Status::kPending) return;
  const int leaver = earliest_leaver();
  if (leaver >= 0) fail({Reason::kClosed, leaver, {}, "has left the group"}, false);
}

int Group::earliest_leaver() const {
  for (int rank = 0; rank < size_; ++rank) {
    if (has_left(rank) && left_[static_cast<std::size_t>(rank)] < static_cast<std::int64_t>(arrived_)) return rank;
  }
  return -1;
}

void Group::watch_clock() {
  if (millis_ <= 0) return;
  if (!asked_until_) {
    if (Clock::now() >= deadline_) ask_who_has_arrived();
    return;
  }
  bool has_all = true;
  for (int rank = 0; rank < size_; ++rank) has_all = has_all && (rank == rank_ || arrivals_[static_cast<std::size_t>(rank)] >= 0);
  if (has_all || Clock::now() >= *asked_until_) end_late();
}

void Group::ask_who_has_arrived() {
  asked_until_ = Clock::now() + kAnswerTime;
  arrivals_.assign(static_cast<std::size_t>(size_), -1);
  tell_others([this](int rank) { control_.send(rank, Note::kQuery, {}); });
}

void Group::end_late() {
  std::vector<int> missing;
  std::vector<int> others;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    others.push_back(rank);
    if (arrivals_[static_cast<std::size_t>(rank)] < static_cast<std::int64_t>(arrived_)) missing.push_back(rank);
  }
  if (missing.empty()) fail({Reason::kDeadline, rank_, others, "called " + plan_->name + ", but did not finish it"});
  else fail({Reason::kDeadline, rank_, missing, "did not arrive at " + plan_->name});
}

template <class Tell>
void Group::tell_others(Tell tell) {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_ && !has_left(rank)) tell(rank);
  }
}

void Group::fail(Failure failure, bool tells) {
  if (failure_) return;
  failure_ = std::move(failure);
  if (tells && !is_cut_) {
    try {
      tell_others([this](int rank) { control_.send(rank, Note::kFailure, encode(*failure_)); });
    } catch (const Error&) {
      // A rank that this message cannot reach waits until its own deadline.
    }
  }
  if (status_ == Status::kPending) end(Status::kFailed);
}

void Group::leave() {
  if (is_closed_) return;
  if (status_ == Status::kPending) fail({Reason::kClosed, rank_, {}, "has left the group"});
  is_closed_ = true;
  if (is_cut_) return;
  try {
    // Sent after a failure, too, of which a rank may not know, and to ranks that have left: all
    // ranks wait for this note before they free the communicators.
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_) control_.send(rank, Note::kLeft, encode(arrived_));
    }
  } catch (const Error& error) {
    fail({Reason::kFailed, rank_, {}, error.what()}, false);
  }
}

void Group::cut() {
  is_cut_ = true;
  if (status_ == Status::kPending) end(Status::kFailed);
}

bool Group::is_over() {
  if (is_cut_ || !is_closed_) return false;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_ && !has_left(rank)) return false;
  }
  return control_.flush();
}

void Group::free_comms() {
  for (const MpiHandle comm : {comms_.data, comms_.check, comms_.control}) mpi_.free_comm(comm);
}

}  // namespace coll
