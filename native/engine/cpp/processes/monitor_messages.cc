#if defined(__linux__)

#include <algorithm>

#include "monitor.h"

// The messages that the monitor sends, receives and passes on.

namespace coll {

void Monitor::take(int rank, const Frame& frame) {
  if (frame.kind == FrameKind::kOpened) {
    opened_.merge(frame.body);
  } else if (frame.kind == FrameKind::kAnnounced) {
    announced_.merge(frame.body);
  } else if (frame.kind == FrameKind::kFailure) {
    take_failure(rank, frame);
  } else if (frame.kind == FrameKind::kLeft || frame.kind == FrameKind::kCompleted) {
    take_leave(rank, frame);
  } else if (frame.kind == FrameKind::kAsk) {
    const auto asked = asked_of(frame);
    if (!asked) return;
    Question& question = questions_.about(asked->sequence);
    if (question.round < asked->round) begin_round(question, *asked, rank);
  } else if (frame.kind == FrameKind::kAnswer) {
    const auto received = answer_of(frame);
    if (!received || !peers_.has(received->rank)) return;
    Question& question = questions_.about(received->answer.sequence);
    if (question.round < received->round) begin_round(question, {received->answer.sequence, received->round}, -1);
    if (question.add(static_cast<std::size_t>(received->rank), received->round, received->answer)) peers_.tell_all(answer_frame(*received), rank);
  }
}

void Monitor::take_failure(int rank, const Frame& frame) {
  auto failure = failure_of(frame);
  if (!failure) return;
  if (failure->rank != -1 && !may_name(failure->rank)) failure->rank = rank;
  auto& others = failure->ranks;
  others.erase(std::remove_if(others.begin(), others.end(), [this](int other) { return !may_name(other); }), others.end());
  peers_[static_cast<std::size_t>(rank)].has_reported = true;
  hear_of(*failure);
}

// Whether a rank is one of this group or, from its size on, of the enclosing group.
bool Monitor::may_name(int rank) const { return rank >= 0 && rank < static_cast<int>(peers_.size()) + enclosing_; }

void Monitor::take_leave(int from, const Frame& frame) {
  const auto count = count_of(frame);
  if (!count || !peers_.has(count->rank) || count->rank == watch_.rank) return;
  WatchedMember& peer = peers_[static_cast<std::size_t>(count->rank)];
  if (frame.kind == FrameKind::kCompleted) {
    if (peer.completed >= count->collectives) return;
    peer.completed = count->collectives;
    peers_.tell_all(completed_frame(*count), from);
    return;
  }
  if (peer.has_left) return;
  peer.has_left = true;
  peer.collectives = count->collectives;
  owed_ = std::max(owed_.value_or(0), count->collectives);
  peers_.tell_all(left_frame(*count), from);
  if (calls_.leave_after(count->collectives)) adopt({FailureKind::kClosed, count->rank, kHasLeft, calls_.current()});
}

// Passes a new round on to the neighbours, and answers it.
void Monitor::begin_round(Question& question, const Asked& asked, int except) {
  question.round = asked.round;
  question.begun = Clock::now();
  peers_.tell_all(ask_frame(asked), except);
  const RankAnswer own{watch_.rank, asked.round, calls_.answer(asked.sequence)};
  question.add(static_cast<std::size_t>(own.rank), own.round, own.answer);
  peers_.tell_all(answer_frame(own));
}

bool Monitor::have_answered() {
  const Question& question = questions_.about(asked_);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!peers_[rank].is_out() && question.rounds[rank] < asked_round_) return false;
  }
  return true;
}

// After its k-th message, a rank knows of 2^k ranks before it that they have opened the group.
void Monitor::pass_on_opened() {
  const auto rank = static_cast<std::size_t>(watch_.rank);
  for (; opened_step_ < peers_.size() && opened_.has_before(rank, opened_step_); opened_step_ *= 2) {
    peers_[(rank + opened_step_) % peers_.size()].control->send(opened_frame(opened_.bits()));
    is_urgent_ = true;
  }
}

// Members that leave stay until all others have completed the collectives in which they took part.
void Monitor::pass_on_completed() {
  const std::uint64_t completed = calls_.current();
  if (failure_ || leaving_since_ || announced_completed_ >= owed_ || completed < *owed_) return;
  announced_completed_ = completed;
  peers_.tell_all(completed_frame({watch_.rank, completed}));
}

// Until its connections end, this rank passes on messages between other members.
void Monitor::end_connections() {
  const std::uint64_t own = peers_[static_cast<std::size_t>(watch_.rank)].collectives;
  if (!leaving_since_ || has_ended_connections_ || !(failure_ || peers_.have_completed(own, watch_.rank))) return;
  has_ended_connections_ = true;
  for (WatchedMember& peer : peers_) peer.control->end();
  is_urgent_ = true;
}

void Monitor::flush(Clock::time_point now) {
  const bool is_due = is_urgent_ || now - last_flush_ >= batch_;
  if (is_due && announced_.take_change()) peers_.tell_all(announced_frame(announced_.bits()));
  if (is_due && peers_.have_unsent()) last_flush_ = now;
  for (WatchedMember& peer : peers_) {
    if (is_due || peer.control->is_blocked()) peer.control->flush();
  }
  if (is_due) is_urgent_ = false;
}

}  // namespace coll

#endif
