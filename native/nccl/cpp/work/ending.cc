// The end of the process. The threads of this addon do not end: CUDA and NCCL tear themselves down
// at the exit, and must not find such a thread inside a call.
#include <thread>

#include "../tuning.h"
#include "../../../engine/cpp/linux/older_waiting.h"
#include "scheduler.h"

namespace coll {

bool Scheduler::begin_call() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_ending_) has_refused_calls_ = true;
  else ++calls_elsewhere_;
  return !is_ending_;
}

void Scheduler::end_call() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --calls_elsewhere_;
}

bool Scheduler::come_to_rest(std::chrono::milliseconds longest) {
  constexpr int kThreads = 3;
  const auto end = Clock::now() + longest;
  // Tries to lock only, because a thread that is stuck in a call may hold the lock.
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  for (;; std::this_thread::sleep_for(tuning::kEndingInterval)) {
    if (lock.owns_lock() || lock.try_lock()) {
      is_ending_ = true;
      has_work_.notify_one();
      // NCCL continues on its own with launches that have begun, and that nobody aborts any more.
      if (resting_ == kThreads) return begun_.empty() && calls_elsewhere_ == 0 && !has_refused_calls_;
      lock.unlock();
    }
    if (Clock::now() > end) return false;
  }
}

void Scheduler::rest(std::unique_lock<std::mutex>& lock) {
  ++resting_;
  for (;;) for_ever_.wait(lock);
}

}  // namespace coll
