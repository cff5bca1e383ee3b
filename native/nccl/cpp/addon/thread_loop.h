#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "../../../engine/cpp/addon/event_loop.h"
#include "opened_cliques.h"

namespace coll {

// The event loop of one JavaScript thread. Detects the end of the thread.
class ThreadLoop final : public EventLoop {
 public:
  // The loop of the calling JavaScript thread.
  static std::shared_ptr<ThreadLoop> of(Napi::Env env) { return EventLoop::of<ThreadLoop>(env, "coll nccl"); }

  // Runs `use` unless the thread has ended. The thread's memory exists until `use` returns.
  bool while_open(const std::function<void()>& use);

  // The cliques of this thread, which end with it.
  OpenedCliques cliques;

 private:
  void end_thread() override;

  std::mutex memory_mutex_;
  std::condition_variable unused_;
  int users_ = 0;
  bool has_memory_ = true;
};

}  // namespace coll
