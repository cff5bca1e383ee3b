#include "event_loop_queue.h"

#include "../work/older_waiting.h"

namespace coll {

std::shared_ptr<EventLoopQueue> EventLoopQueue::of(Napi::Env env) {
  auto* held = env.GetInstanceData<std::shared_ptr<EventLoopQueue>>();
  if (held == nullptr) {
    held = new std::shared_ptr<EventLoopQueue>(std::make_shared<EventLoopQueue>());
    env.SetInstanceData(held);
    (*held)->open(env);
  }
  return *held;
}

void EventLoopQueue::open(Napi::Env env) {
  const Napi::String name = Napi::String::New(env, "coll nccl");
  const auto call = [](napi_env raw, napi_value, void* context, void*) {
    if (raw != nullptr) static_cast<EventLoopQueue*>(context)->deliver(Napi::Env(raw));
  };
  const napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, call, &call_);
  if (status != napi_ok) throw Napi::Error::New(env);
  napi_unref_threadsafe_function(env, call_);
  is_open_ = true;
  // Runs before anything of the thread is destroyed.
  env.AddCleanupHook([this] { close(); });
}

void EventLoopQueue::close() {
  cliques.end();
  {
    std::unique_lock<std::mutex> lock(memory_mutex_);
    has_memory_ = false;
    unused_.wait(lock, [this] { return users_ == 0; });
  }
  std::deque<Callback> undelivered;
  const std::lock_guard<std::mutex> lock(callbacks_mutex_);
  is_open_ = false;
  undelivered.swap(callbacks_);
  napi_release_threadsafe_function(call_, napi_tsfn_abort);
}

void EventLoopQueue::send(Callback callback) {
  const std::lock_guard<std::mutex> lock(callbacks_mutex_);
  if (!is_open_) return;
  callbacks_.push_back(std::move(callback));
  if (is_called_) return;
  is_called_ = true;
  napi_call_threadsafe_function(call_, nullptr, napi_tsfn_nonblocking);
}

void EventLoopQueue::deliver(Napi::Env env) {
  std::deque<Callback> callbacks;
  {
    const std::lock_guard<std::mutex> lock(callbacks_mutex_);
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

bool EventLoopQueue::while_open(const std::function<void()>& use) {
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

void EventLoopQueue::begin_wait(Napi::Env env) {
  if (waits_++ == 0) napi_ref_threadsafe_function(env, call_);
}

void EventLoopQueue::end_wait(Napi::Env env) {
  if (--waits_ == 0) napi_unref_threadsafe_function(env, call_);
}

}  // namespace coll
