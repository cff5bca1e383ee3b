#include "scheduler.h"

#include <thread>

#include "../communicators/clique.h"

namespace coll {

Scheduler::Scheduler() {
  std::thread([this] { submit_all(); }).detach();
  std::thread([this] { complete_all(); }).detach();
  std::thread([this] { watch_all(); }).detach();
}

void Scheduler::submit(SharedOperation operation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Clique* const clique = operation->clique.get();
  operation->sequence = ++(clique != nullptr ? clique->latest_sequence : latest_sequence_);
  operation->record = recorder_.add(*operation);
  operation->submitted = Clock::now();
  if (operation->deadline == Clock::time_point{}) operation->deadline = operation->submitted + timeout_;
  operation->place = unsettled_.insert(unsettled_.end(), operation);
  if (!stuck_.empty()) return fail_one(operation, {FailureKind::kStuck, 0, stuck_}, true);
  // A clique that has failed or is closed needs no further end.
  if (operation->ends_clique && (clique->failure || clique->state == CliqueState::kClosed)) return settle(operation, nullptr);
  if (clique != nullptr && clique->failure) {
    return fail_one(operation, {FailureKind::kBroken, clique->failure->code, "the communicator failed before: " + clique->failure->message}, false);
  }
  if (clique != nullptr && (clique->state == CliqueState::kClosed || clique->state == CliqueState::kEnding)) {
    return fail_one(operation, {FailureKind::kClosed, 0, "the communicator has been destroyed"}, false);
  }
  if (clique != nullptr && clique->state == CliqueState::kMaking && !operation->opens_clique) {
    return fail_one(operation, {FailureKind::kClosed, 0, "the communicator has not been opened"}, false);
  }
  spread_to(operation);
  if (operation->state == State::kFailed) return;
  // From here on, no later operation may use the clique.
  if (operation->ends_clique) clique->state = CliqueState::kEnding;
  queue_.push_back(std::move(operation));
  has_work_.notify_one();
}

void Scheduler::submit_chore(Chore chore) {
  const std::lock_guard<std::mutex> lock(mutex_);
  chores_.push_back(std::move(chore));
  has_work_.notify_one();
}

void Scheduler::submit_blocking_chore(Chore chore) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocking_chores_.push_back(std::move(chore));
  has_work_.notify_one();
}

void Scheduler::fail(const SharedOperation& operation, const Failure& failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (operation->clique != nullptr) return end_clique(*operation->clique, failure);
  fail_one(operation, failure, true);
  spread();
}

void Scheduler::fail_clique(Clique& clique, const Failure& failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  end_clique(clique, failure);
}

bool Scheduler::has_failed(const Operation& operation) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Polled by waits that may never end by themselves.
  return is_ending_ || operation.state == State::kFailed;
}

void Scheduler::settle(const SharedOperation& operation, const Failure* failure) {
  operation->state = failure == nullptr ? State::kDone : State::kFailed;
  recorder_.update(*operation);
  if (operation->settle) operation->settle(*operation, failure);
  unsettled_.erase(operation->place);
}

void Scheduler::fail_one(const SharedOperation& operation, const Failure& failure, bool spoils) {
  if (operation->state == State::kFailed || operation->state == State::kDone) return;
  for (const Use& use : operation->uses) {
    if (spoils && use.writes && !use.allocation->spoiled) use.allocation->spoiled = failure;
  }
  settle(operation, &failure);
}

// One pass is enough: an operation that reads a result was submitted later than the one that makes
// it.
void Scheduler::spread() {
  for (auto at = unsettled_.begin(); at != unsettled_.end();) {
    const SharedOperation operation = *at++;
    spread_to(operation);
  }
}

void Scheduler::spread_to(const SharedOperation& operation) {
  for (const Use& use : operation->uses) {
    if (!use.allocation->spoiled) continue;
    const Failure cause = *use.allocation->spoiled;
    const bool has_never_been = cause.kind == FailureKind::kOutOfMemory || cause.kind == FailureKind::kInvalidArgument;
    const bool says_it_all = has_never_been || cause.kind == FailureKind::kSpoiled;
    const std::string message = "a buffer has unknown contents after a failed operation (" + cause.message + "): allocate a new one";
    return fail_one(operation, says_it_all ? cause : Failure{FailureKind::kSpoiled, cause.code, message}, true);
  }
}

void Scheduler::end_clique(Clique& clique, const Failure& failure) {
  if (clique.state == CliqueState::kFailed || clique.state == CliqueState::kClosed) return;
  const bool was_made = clique.state != CliqueState::kMaking;
  clique.state = CliqueState::kFailed;
  clique.failure = failure;
  for (auto at = unsettled_.begin(); at != unsettled_.end();) {
    const SharedOperation operation = *at++;
    if (operation->clique.get() == &clique) fail_one(operation, failure, true);
  }
  spread();
  clique.abort(*this, was_made);
}

void Scheduler::configure(Clock::duration timeout, Clock::duration grace) {
  const std::lock_guard<std::mutex> lock(mutex_);
  timeout_ = timeout;
  grace_ = grace;
}

Clock::duration Scheduler::timeout() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return timeout_;
}

Clock::duration Scheduler::grace() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return grace_;
}

void Scheduler::on_stuck(std::function<void(const std::string&)> listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!stuck_.empty()) listener(stuck_);
  else on_stuck_.push_back(std::move(listener));
}

std::vector<FlightEntry> Scheduler::flight_record() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return recorder_.entries();
}

std::size_t Scheduler::unsettled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return unsettled_.size();
}

}  // namespace coll
