#pragma once

#include <napi.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../engine/group.h"

namespace coll {

// Runs callbacks of other threads in the event loop of one JavaScript thread, and keeps it alive while something is
// awaited. Knows the groups of the thread, which end with it.
class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  using Callback = std::function<void(Napi::Env)>;

  // That of the calling JavaScript thread.
  static std::shared_ptr<EventLoop> of(Napi::Env env);

  // May be called on any thread. Callbacks for a thread that has ended are dropped.
  void send(Callback callback);

  // Called on the JavaScript thread.
  void hold(Napi::Env env);
  void release(Napi::Env env);
  void add(std::shared_ptr<Group> group) { groups_.push_back(std::move(group)); }

 private:
  void open(Napi::Env env);
  void close();
  void deliver(Napi::Env env);

  std::mutex mutex_;
  std::deque<Callback> callbacks_;
  bool is_called_ = false;
  bool is_open_ = false;
  napi_threadsafe_function call_ = nullptr;
  int holds_ = 0;
  std::vector<std::weak_ptr<Group>> groups_;
};

}  // namespace coll
