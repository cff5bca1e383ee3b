// The watching thread: deadlines, failures that communicators report by themselves, and calls that do not come back.
#include <thread>

#include "../communicators/clique.h"
#include "scheduler.h"

namespace coll {

void Scheduler::watch_all() {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
  for (;;) {
    std::this_thread::sleep_for(kBetweenLooks);
    const std::lock_guard<std::mutex> lock(mutex_);
    watch_deadlines(Clock::now());
    watch_cliques();
    watch_launches(Clock::now());
  }
}

void Scheduler::watch_launches(Clock::time_point now) {
  if (launching_ == nullptr || launching_->state != State::kFailed) return;
  if (failed_while_launching_ == Clock::time_point{}) failed_while_launching_ = now;
  if (now - failed_while_launching_ < grace_) return;
  report_stuck_locked("a call for " + launching_->name + " does not come back; the GPUs of this process cannot be used any more: end it");
}

void Scheduler::watch_deadlines(Clock::time_point now) {
  for (auto at = unsettled_.begin(); at != unsettled_.end(); ++at) {
    const SharedOperation operation = *at;
    if (now < operation->deadline) continue;
    const std::string where = operation->state == State::kQueued ? "it was not launched" : "the GPU did not finish it";
    const Failure failure{FailureKind::kTimeout, 0, "out of time: " + where + "; latest operations: " + recorder_.tail()};
    if (operation->clique != nullptr) end_clique(*operation->clique, failure);
    fail_one(operation, failure, true);
    spread();
    // The list has changed; what else is too late is seen at the next look.
    return;
  }
}

void Scheduler::watch_cliques() {
  std::vector<std::shared_ptr<Clique>> cliques;
  for (const SharedOperation& operation : unsettled_) {
    const std::shared_ptr<Clique>& clique = operation->clique;
    if (clique != nullptr && clique->state == CliqueState::kOpen && (cliques.empty() || cliques.back() != clique)) cliques.push_back(clique);
  }
  for (const std::shared_ptr<Clique>& clique : cliques) {
    const std::optional<Failure> failure = clique->async_failure();
    if (failure) end_clique(*clique, *failure);
  }
}

void Scheduler::report_stuck(const std::string& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  report_stuck_locked(message);
}

void Scheduler::report_stuck_locked(const std::string& message) {
  if (!stuck_.empty()) return;
  stuck_ = message;
  if (on_stuck_) on_stuck_(message);
}

}  // namespace coll
