#pragma once

#include <napi.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "opened_cliques.h"

namespace coll {

// Runs callbacks of native threads in the event loop of one JavaScript thread. Keeps that event
// loop alive while any promise is pending, and detects the end of the thread.
class EventLoopQueue : public std::enable_shared_from_this<EventLoopQueue> {
 public:
  using Callback = std::function<void(Napi::Env)>;

  // The queue of the calling JavaScript thread.
  static std::shared_ptr<EventLoopQueue> of(Napi::Env env);

  // May be called on any thread. Callbacks for a thread that has ended are dropped.
  void send(Callback callback);
  // Runs `use` unless the thread has ended. The thread's memory exists until `use` returns.
  bool while_open(const std::function<void()>& use);

  // The cliques of this thread, which end with it.
  OpenedCliques cliques;

  // Called on the JavaScript thread when a promise becomes pending, and when it is settled.
  void begin_wait(Napi::Env env);
  void end_wait(Napi::Env env);

 private:
  void open(Napi::Env env);
  void close();
  void deliver(Napi::Env env);

  std::mutex callbacks_mutex_;
  std::deque<Callback> callbacks_;
  bool is_called_ = false;
  bool is_open_ = false;
  std::mutex memory_mutex_;
  std::condition_variable unused_;
  int users_ = 0;
  bool has_memory_ = true;
  napi_threadsafe_function call_ = nullptr;
  int waits_ = 0;
};

}  // namespace coll
