#pragma once

#include <napi.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace coll {

// Runs callbacks of other threads in the event loop of one JavaScript thread, and keeps it alive while something is
// awaited. For addons whose own threads settle promises.
class EventLoop {
 public:
  using Callback = std::function<void(Napi::Env)>;

  virtual ~EventLoop() = default;

  // May be called on any thread. Callbacks for a thread that has ended are dropped.
  void send(Callback callback) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_open_) return;
    callbacks_.push_back(std::move(callback));
    if (is_called_) return;
    is_called_ = true;
    napi_call_threadsafe_function(call_, nullptr, napi_tsfn_nonblocking);
  }

  // Called on the JavaScript thread.
  void hold(Napi::Env env) {
    if (holds_++ == 0) napi_ref_threadsafe_function(env, call_);
  }
  void release(Napi::Env env) {
    if (--holds_ == 0) napi_unref_threadsafe_function(env, call_);
  }

 protected:
  // The event loop of the calling JavaScript thread; the first call creates it. Tools that list
  // asynchronous resources show `name`.
  template <class Loop>
  static std::shared_ptr<Loop> of(Napi::Env env, const char* name) {
    auto* held = env.GetInstanceData<std::shared_ptr<Loop>>();
    if (held == nullptr) {
      held = new std::shared_ptr<Loop>(std::make_shared<Loop>());
      env.SetInstanceData(held);
      (*held)->open(env, name);
    }
    return *held;
  }

  // Ends all work that uses memory of the JavaScript thread. Called when the thread ends, before
  // callbacks are dropped.
  virtual void end_thread() = 0;

 private:
  void open(Napi::Env env, const char* name) {
    const auto call = [](napi_env raw, napi_value, void* context, void*) {
      if (raw != nullptr) static_cast<EventLoop*>(context)->deliver(Napi::Env(raw));
    };
    const Napi::String resource = Napi::String::New(env, name);
    const napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, resource, 0, 1, nullptr, nullptr, this, call, &call_);
    if (status != napi_ok) throw Napi::Error::New(env);
    napi_unref_threadsafe_function(env, call_);
    is_open_ = true;
    // Node calls this before it destroys any object of the thread.
    env.AddCleanupHook([this] { close(); });
  }

  void close() {
    end_thread();
    std::deque<Callback> undelivered;
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = false;
    undelivered.swap(callbacks_);
    napi_release_threadsafe_function(call_, napi_tsfn_abort);
  }

  void deliver(Napi::Env env) {
    std::deque<Callback> callbacks;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      callbacks.swap(callbacks_);
      is_called_ = false;
    }
    const Napi::HandleScope scope(env);
    for (const Callback& callback : callbacks) {
      try {
        callback(env);
      } catch (const Napi::Error&) {
        // The thread is ending and accepts no more calls.
      }
    }
  }

  std::mutex mutex_;
  std::deque<Callback> callbacks_;
  bool is_called_ = false;
  bool is_open_ = false;
  napi_threadsafe_function call_ = nullptr;
  int holds_ = 0;
};

}  // namespace coll
