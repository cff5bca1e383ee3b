// The watching thread: deadlines, failures that communicators report by themselves, and calls that do not come back.
#include <algorithm>
#include <thread>

#include "../communicators/clique.h"
#include "../tuning.h"
#include "scheduler.h"

namespace coll {
namespace {

std::string seconds_of(Clock::duration time) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

void Scheduler::watch_all() {
  for (;;) {
    std::this_thread::sleep_for(tuning::kWatchInterval);
    std::unique_lock<std::mutex> lock(mutex_);
    if (is_ending_) rest(lock);
    watch_cliques();
    if (do_deadlines_stand(Clock::now())) continue;
    watch_deadlines(Clock::now());
    watch_launches(Clock::now());
  }
}

bool Scheduler::do_deadlines_stand(Clock::time_point now) const {
  return standing_since_ != Clock::time_point{} && now - standing_since_ < timeout_;
}

void Scheduler::while_deadlines_stand(const std::function<void()>& prepare) {
  struct Standing {
    Scheduler& scheduler;
    ~Standing() { scheduler.resume_deadlines(); }
  };
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    standing_since_ = Clock::now();
  }
  const Standing standing{*this};
  prepare();
}

void Scheduler::resume_deadlines() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Clock::time_point now = Clock::now();
  // Extends the deadlines by the time for which they stood still, but by at most the timeout.
  for (const SharedOperation& operation : unsettled_)
    operation->deadline += std::min<Clock::duration>(now - std::max(standing_since_, operation->submitted), timeout_);
  standing_since_ = {};
}

void Scheduler::watch_launches(Clock::time_point now) {
  if (launching_ == nullptr || launching_->state != State::kFailed) return;
  if (failed_while_launching_ == Clock::time_point{}) failed_while_launching_ = now;
  if (now - failed_while_launching_ < grace_) return;
  report_stuck_locked("a call for " + launching_->name + " does not return; the GPUs of this process can no longer be used: end the process");
}

void Scheduler::watch_deadlines(Clock::time_point now) {
  for (auto at = unsettled_.begin(); at != unsettled_.end(); ++at) {
    const SharedOperation operation = *at;
    // Extends the deadline of an operation that may wait for a collective, which has a deadline of
    // its own.
    if (operation->clique == nullptr && busy_cliques_ > 0) operation->deadline = std::max(operation->deadline, now + timeout_);
    if (now < operation->deadline) continue;
    const std::string where = operation->state == State::kQueued ? "it was not launched" : operation->unfinished;
    const std::string when = seconds_of(now - operation->submitted);
    const Failure failure{FailureKind::kTimeout, 0, "timed out after " + when + ": " + where + "; latest operations: " + recorder_.tail()};
    if (operation->clique != nullptr) end_clique(*operation->clique, failure);
    fail_one(operation, failure, true);
    spread();
    // The list has changed; other operations that are late are found at the next poll.
    return;
  }
}

void Scheduler::watch_cliques() {
  std::vector<std::shared_ptr<Clique>> cliques;
  for (const SharedOperation& operation : unsettled_) {
    const std::shared_ptr<Clique>& clique = operation->clique;
    // Skips cliques that are launching. NCCL joins a thread of its own when it is asked for errors,
    // and two threads must not ask for one communicator at once; a launch asks by itself.
    if (clique == nullptr || clique->state != CliqueState::kOpen || clique->is_launching) continue;
    if (cliques.empty() || cliques.back() != clique) cliques.push_back(clique);
  }
  for (const std::shared_ptr<Clique>& clique : cliques) {
    std::optional<Failure> failure = clique->async_failure();
    if (!failure) continue;
    failure->message += "; latest operations: " + recorder_.tail();
    end_clique(*clique, *failure);
  }
}

void Scheduler::report_stuck(const std::string& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  report_stuck_locked(message);
}

void Scheduler::report_stuck_locked(const std::string& message) {
  if (!stuck_.empty()) return;
  stuck_ = message;
  for (const auto& listener : on_stuck_) listener(message);
}

}  // namespace coll
