// The completing thread: detects that the device has finished an operation, and settles it.
#include <algorithm>
#include <thread>

#include "../communicators/clique.h"
#include "../tuning.h"
#include "../../../engine/cpp/linux/older_waiting.h"
#include "scheduler.h"

namespace coll {
namespace {

// NCCL may use the memory of a failed operation until its communicators have been aborted.
bool is_being_aborted(const Operation& operation) { return operation.clique != nullptr && operation.clique->aborts > 0; }

}  // namespace

void Scheduler::complete_all() {
  std::deque<SharedOperation> flying;
  auto pause = tuning::kShortestCompletionSleep;
  int idle_polls = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (flying.empty()) has_flights_.wait(lock, [this] { return launches_no_more_ || !launched_.empty(); });
      flying.insert(flying.end(), std::make_move_iterator(launched_.begin()), std::make_move_iterator(launched_.end()));
      launched_.clear();
      if (launches_no_more_ && flying.empty()) rest(lock);
    }
    bool has_moved = false;
    for (auto at = flying.begin(); at != flying.end();) {
      bool is_done = !is_being_aborted(**at);
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
      idle_polls = 0;
      pause = tuning::kShortestCompletionSleep;
    } else if (++idle_polls > tuning::kCompletionPolls) {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, tuning::kLongestCompletionSleep);
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

}  // namespace coll
