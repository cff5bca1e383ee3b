#include "scheduler.h"

#include <thread>

#include "../communicators/clique.h"
#include "older_waiting.h"

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
  if (operation->deadline == Clock::time_point{}) operation->deadline = Clock::now() + timeout_;
  operation->place = unsettled_.insert(unsettled_.end(), operation);
  if (!stuck_.empty()) return fail_one(operation, {FailureKind::kStuck, 0, stuck_}, true);
  // One that has ended needs no end.
  if (operation->ends_clique && (clique->failure || clique->state == CliqueState::kClosed)) return settle(operation, nullptr);
  if (clique != nullptr && clique->failure) {
    return fail_one(operation, {FailureKind::kBroken, clique->failure->code, "the communicator failed before: " + clique->failure->message}, false);
  }
  if (clique != nullptr && (clique->state == CliqueState::kClosed || clique->state == CliqueState::kEnding)) {
    return fail_one(operation, {FailureKind::kClosed, 0, "the communicator has been destroyed"}, false);
  }
  spread_to(operation);
  if (operation->state == State::kFailed) return;
  // From here on, none that comes later may use it.
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
  return operation.state == State::kFailed;
}

void Scheduler::submit_all() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return !queue_.empty() || !chores_.empty() || may_block(); });
    std::deque<Chore>& chores = chores_.empty() && may_block() ? blocking_chores_ : chores_;
    if (!chores.empty()) {
      const Chore chore = std::move(chores.front());
      chores.pop_front();
      lock.unlock();
      chore();
      lock.lock();
      continue;
    }
    const SharedOperation operation = std::move(queue_.front());
    queue_.pop_front();
    launch(operation, lock);
    // Dropping the last hold on an operation may submit a chore.
    lock.unlock();
    const_cast<SharedOperation&>(operation).reset();
    lock.lock();
  }
}

bool Scheduler::may_block() const { return !blocking_chores_.empty() && busy_cliques_ == 0 && queue_.empty(); }

void Scheduler::launch(const SharedOperation& operation, std::unique_lock<std::mutex>& lock) {
  if (operation->state == State::kFailed) return;
  if (operation->clique != nullptr) {
    ++busy_cliques_;
    operation->clique->is_launching = true;
  }
  launching_ = operation;
  lock.unlock();
  std::optional<Failure> failure;
  try {
    operation->launch(*operation);
  } catch (const Error& error) {
    failure = error.failure();
  } catch (const std::exception& error) {
    failure = Failure{FailureKind::kCuda, 0, error.what()};
  }
  lock.lock();
  launching_.reset();
  failed_while_launching_ = {};
  if (operation->clique != nullptr) operation->clique->is_launching = false;
  if (failure) {
    // NCCL says so where a call has had no effect.
    const bool is_harmless = operation->clique != nullptr && failure->kind == FailureKind::kInvalidArgument;
    if (operation->clique != nullptr && !is_harmless) end_clique(*operation->clique, *failure);
    fail_one(operation, *failure, !is_harmless);
    spread();
  } else if (operation->state == State::kQueued) {
    operation->state = State::kLaunched;
    recorder_.update(*operation);
  }
  // What has failed stays here as well, for what it keeps is still in use.
  launched_.push_back(operation);
  has_flights_.notify_one();
}

void Scheduler::complete_all() {
  constexpr int kSpins = 200;
  constexpr auto kShortest = std::chrono::microseconds(20);
  constexpr auto kLongest = std::chrono::microseconds(500);
  std::deque<SharedOperation> flying;
  auto pause = kShortest;
  int idle_looks = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (flying.empty()) has_flights_.wait(lock, [this] { return !launched_.empty(); });
      flying.insert(flying.end(), std::make_move_iterator(launched_.begin()), std::make_move_iterator(launched_.end()));
      launched_.clear();
    }
    bool has_moved = false;
    for (auto at = flying.begin(); at != flying.end();) {
      bool is_done = true;
      try {
        for (const SharedFence& fence : (*at)->fences) is_done = is_done && fence->has_passed();
      } catch (const Error& error) {
        if (error.failure().code == cuda::kShuttingDown) return;
        fail(*at, error.failure());
      }
      if (is_done) {
        conclude(*at);
        at = flying.erase(at);
        has_moved = true;
      } else {
        ++at;
      }
    }
    if (has_moved || flying.empty()) {
      idle_looks = 0;
      pause = kShortest;
    } else if (++idle_looks > kSpins) {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(kLongest));
    } else {
      std::this_thread::yield();
    }
  }
}

void Scheduler::conclude(const SharedOperation& operation) {
  std::optional<Failure> failure;
  if (operation->finish && !has_failed(*operation)) {
    try {
      operation->finish(*operation);
    } catch (const Error& error) {
      failure = error.failure();
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (operation->clique != nullptr && --busy_cliques_ == 0) has_work_.notify_one();
  if (operation->state == State::kFailed) return;
  if (failure) fail_one(operation, *failure, true);
  else settle(operation, nullptr);
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

// One pass is enough: whatever reads a result was submitted later than what makes it.
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
    const std::string message = "a buffer holds what a failed operation left (" + cause.message + "): allocate a new one";
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
  on_stuck_ = std::move(listener);
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
