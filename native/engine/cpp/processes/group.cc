#if defined(__linux__)

#include "group.h"

#include <algorithm>
#include <new>
#include <string>
#include <thread>

namespace coll {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// How long a call waits before it checks the group, and how often it asks the other ranks.
constexpr milliseconds kLook{100};
constexpr milliseconds kAskAgain{1000};
// The age up to which a rank uses answers that another rank has asked for, if all ranks wait.
constexpr milliseconds kRecently{500};
// Members answer at once, unless they are stopped or their machine is very busy.
constexpr milliseconds kAnswering{500};
// Time for the other ranks to arrive once some disagree.
constexpr milliseconds kGathering{1000};
constexpr milliseconds kAskSoon{10};

bool agree(const State& a, const State& b) { return std::equal(a.begin(), a.begin() + kAgreedWords, b.begin()); }

microseconds patience_until(const Group::Deadline& deadline, Clock::time_point now) {
  if (!deadline) return kLook;
  const auto left = std::chrono::duration_cast<microseconds>(*deadline - now);
  return std::clamp(left, microseconds(0), microseconds(kLook));
}

}  // namespace

Group::Group(Watch watch) : rank_(watch.rank), monitor_(std::move(watch), calls_, word_) {}

Group::Deadline Group::deadline_after(microseconds timeout) {
  if (timeout.count() <= 0) return std::nullopt;
  return Clock::now() + timeout;
}

Status Group::try_execute(Call& call, microseconds patience, microseconds time_slice) {
  if (has_failed()) return end(Status::kFailed);
  if (has_disagreed_) return Status::kDisagreed;
  if (!is_under_way_) {
    if (!calls_.begin(call.state)) {
      monitor_.fail_for_leaver();
      return Status::kFailed;
    }
    is_under_way_ = true;
    under_way_id_ = call.offer.id;
  }
  Status status = execute_or_fail(call, patience, time_slice);
  if (status == Status::kDone && executor_->came_last() && monitor_.catch_up()) status = Status::kFailed;
  if (status == Status::kWaiting && calls_.is_forsaken()) {
    monitor_.fail_for_leaver();
    status = Status::kFailed;
  }
  has_disagreed_ = status == Status::kDisagreed;
  return status == Status::kDone ? end(status) : status;
}

// An error here, such as a lack of memory, fails the group: no rank can continue from the middle of
// a collective.
Status Group::execute_or_fail(Call& call, microseconds patience, microseconds time_slice) {
  try {
    return executor_->execute(call.offer, patience, time_slice);
  } catch (const std::bad_alloc&) {
    monitor_.fail_here("is out of memory");
  } catch (const std::exception& error) {
    monitor_.fail_here(std::string("cannot continue: ") + error.what());
  }
  return Status::kFailed;
}

Status Group::execute(Call& call, Deadline deadline, std::optional<microseconds> longest) {
  Deadline pause;
  Clock::time_point asked{};
  // A call that completes at once needs no clock.
  Status status = deadline ? Status::kWaiting : try_execute(call, kLook, kLook);
  while (true) {
    if (status == Status::kDone) return status;
    if (status == Status::kFailed) return find_failure(call);
    if (status == Status::kDisagreed) return disagree(call);
    const auto now = Clock::now();
    if (deadline && now >= *deadline) return expire(call);
    if (pause && now >= *pause) return Status::kWaiting;
    if (longest && !pause) pause = now + *longest;
    if (is_under_way_) {
      if (is_contradicted(call)) return disagree(call);
      if (now - asked >= kAskAgain) {
        asked = now;
        monitor_.ask(calls_.current(), kRecently);
      }
    }
    const microseconds patience = patience_until(deadline, now);
    status = try_execute(call, patience, patience);
  }
}

Status Group::end(Status status) {
  if (is_under_way_ && status != Status::kDone) executor_->abandon();
  if (is_under_way_) calls_.end();
  is_under_way_ = false;
  return status;
}

// A rank that disagrees may close its connections first, so this checks for a disagreement as well.
Status Group::find_failure(const Call& call) {
  if (!has_failed() && is_under_way_) {
    monitor_.ask(calls_.current(), kAskSoon);
    monitor_.answers(kAnswering);
    if (!has_failed() && is_contradicted(call)) return disagree(call);
  }
  return settle();
}

Status Group::settle() {
  monitor_.settled_failure();
  return end(Status::kFailed);
}

bool Group::is_contradicted(const Call& call) {
  const auto sequence = calls_.current();
  const auto answers = monitor_.answers(milliseconds(0));
  return std::any_of(answers.begin(), answers.end(), [&](const std::optional<Answer>& answer) {
    return answer && answer->sequence == sequence && answer->is_known && !agree(answer->state, call.state);
  });
}

// Waits for all states, since only they show which rank differs. Missing ranks usually arrive soon.
Status Group::disagree(const Call& call) {
  const auto sequence = calls_.current();
  const auto until = Clock::now() + kGathering;
  while (!has_failed()) {
    monitor_.ask(sequence, kAskSoon);
    const auto answers = monitor_.answers(kAnswering);
    states_.assign(answers.size(), std::nullopt);
    states_[static_cast<std::size_t>(rank_)] = call.state;
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      if (answers[rank] && answers[rank]->is_known) states_[rank] = answers[rank]->state;
    }
    const bool are_all_known = std::all_of(states_.begin(), states_.end(), [](const auto& state) { return state.has_value(); });
    if (are_all_known || Clock::now() >= until) return Status::kDisagreed;
    std::this_thread::sleep_for(kAskSoon);
  }
  return settle();
}

Status Group::expire(Call& call) {
  if (has_failed()) return settle();
  monitor_.ask(calls_.current(), kAskSoon);
  monitor_.answers(kAnswering);
  if (has_failed()) return settle();
  if (is_contradicted(call)) return disagree(call);
  missing_ = absent();
  return Status::kExpired;
}

std::vector<std::optional<std::uint32_t>> Group::quiet_millis() {
  const auto answers = monitor_.answers(milliseconds(0));
  std::vector<std::optional<std::uint32_t>> quiet(answers.size());
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    if (answers[rank]) quiet[rank] = answers[rank]->quiet_millis;
  }
  return quiet;
}

std::vector<int> Group::absent() {
  const auto sequence = calls_.current();
  const auto answers = monitor_.answers(milliseconds(0));
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    const auto& answer = answers[rank];
    const bool has_come = answer && answer->sequence == sequence && answer->has_come();
    if (static_cast<int>(rank) != rank_ && !has_come) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace coll

#endif
