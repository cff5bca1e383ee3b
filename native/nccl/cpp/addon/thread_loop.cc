#include "thread_loop.h"

#include "../../../engine/cpp/linux/older_waiting.h"

namespace coll {

void ThreadLoop::end_thread() {
  cliques.end();
  std::unique_lock<std::mutex> lock(memory_mutex_);
  has_memory_ = false;
  unused_.wait(lock, [this] { return users_ == 0; });
}

bool ThreadLoop::while_open(const std::function<void()>& use) {
  {
    const std::lock_guard<std::mutex> lock(memory_mutex_);
    if (!has_memory_) return false;
    ++users_;
  }
  use();
  const std::lock_guard<std::mutex> lock(memory_mutex_);
  if (--users_ == 0) unused_.notify_all();
  return true;
}

}  // namespace coll
