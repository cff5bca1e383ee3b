// The submitting thread: launches in the order of the calls, and does chores in between.
#include <thread>

#include "../communicators/clique.h"
#include "../tuning.h"
#include "../../../engine/cpp/linux/older_waiting.h"
#include "scheduler.h"

namespace coll {
namespace {

// A chore frees something. If the GPU has failed, or the driver ends with the process, the error
// does not matter.
void carry_out(const Scheduler::Chore& chore) {
  try {
    chore();
  } catch (const Error&) {
  }
}

}  // namespace

void Scheduler::submit_all() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wait_for_work(lock);
    if (is_ending_) {
      launches_no_more_ = true;
      has_flights_.notify_one();
      rest(lock);
    }
    poll_begun(lock);
    std::deque<Chore>& chores = chores_.empty() && may_block() ? blocking_chores_ : chores_;
    if (!chores.empty()) {
      const Chore chore = std::move(chores.front());
      chores.pop_front();
      lock.unlock();
      carry_out(chore);
      lock.lock();
      continue;
    }
    if (queue_.empty()) continue;
    SharedOperation operation = std::move(queue_.front());
    queue_.pop_front();
    launch(operation, lock);
    // Dropping the last hold on an operation may submit a chore.
    lock.unlock();
    operation.reset();
    lock.lock();
  }
}

void Scheduler::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto has_work = [this] { return is_ending_ || !queue_.empty() || !chores_.empty() || may_block(); };
  if (begun_.empty()) has_work_.wait(lock, has_work);
  // Waits by the system clock: waiting by the steady clock needs glibc 2.30.
  else has_work_.wait_until(lock, std::chrono::system_clock::now() + tuning::kBegunInterval, has_work);
}

bool Scheduler::may_block() const { return !blocking_chores_.empty() && busy_cliques_ == 0 && queue_.empty(); }

void Scheduler::launch(const SharedOperation& operation, std::unique_lock<std::mutex>& lock) {
  if (operation->state == State::kFailed) return;
  if (operation->clique != nullptr) ++busy_cliques_;
  attempt(operation, lock, [](Operation& self) {
    self.launch(self);
    return !self.is_launched || self.is_launched(self);
  });
}

void Scheduler::poll_begun(std::unique_lock<std::mutex>& lock) {
  if (begun_.empty()) return;
  std::vector<SharedOperation> polled;
  polled.swap(begun_);
  for (const SharedOperation& operation : polled) {
    if (operation->state == State::kFailed) let_complete(operation);
    else attempt(operation, lock, [](Operation& self) { return self.is_launched(self); });
  }
  lock.unlock();
  polled.clear();
  lock.lock();
}

void Scheduler::attempt(const SharedOperation& operation, std::unique_lock<std::mutex>& lock, bool (*launches)(Operation&)) {
  Clique* const clique = operation->clique.get();
  if (clique != nullptr) clique->is_launching = true;
  launching_ = operation;
  lock.unlock();
  std::optional<Failure> failure;
  bool is_launched = false;
  try {
    is_launched = launches(*operation);
  } catch (const Error& error) {
    failure = error.failure();
  } catch (const std::exception& error) {
    failure = Failure{FailureKind::kCuda, 0, error.what()};
  }
  lock.lock();
  launching_.reset();
  failed_while_launching_ = {};
  if (clique != nullptr) clique->is_launching = false;
  if (failure) {
    // NCCL returns this error if a call has had no effect.
    const bool is_harmless = clique != nullptr && clique->state != CliqueState::kMaking && failure->kind == FailureKind::kInvalidArgument;
    if (clique != nullptr && !is_harmless) end_clique(*clique, *failure);
    fail_one(operation, *failure, !is_harmless);
    spread();
  } else if (operation->state == State::kQueued) {
    operation->state = State::kLaunched;
    recorder_.update(*operation);
  }
  if (!failure && !is_launched && operation->state != State::kFailed) begun_.push_back(operation);
  else let_complete(operation);
}

// Hands an operation to the completion thread, even if it has failed, because the memory that it
// keeps is still in use.
void Scheduler::let_complete(const SharedOperation& operation) {
  launched_.push_back(operation);
  has_flights_.notify_one();
}

}  // namespace coll
