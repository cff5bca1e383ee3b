#include "event_loop.h"

#include <sched.h>

#include "../engine/engine.h"

namespace coll {
namespace {

// How long a thread that ends waits for the call that uses its memory.
constexpr auto kEndTime = std::chrono::seconds(2);

void leave_with_thread(Engine& engine, Group& group) {
  const auto until = Clock::now() + kEndTime;
  engine.own([&] { group.wake = nullptr; });
  while (engine.wait(group) == Status::kPending && Clock::now() < until) sched_yield();
  engine.own([&] { group.leave(); });
}

}  // namespace

std::shared_ptr<EventLoop> EventLoop::of(Napi::Env env) {
  auto* held = env.GetInstanceData<std::shared_ptr<EventLoop>>();
  if (held == nullptr) {
    held = new std::shared_ptr<EventLoop>(std::make_shared<EventLoop>());
    env.SetInstanceData(held);
    (*held)->open(env);
  }
  return *held;
}

void EventLoop::open(Napi::Env env) {
  const Napi::String name = Napi::String::New(env, "coll mpi");
  const auto call = [](napi_env raw, napi_value, void* context, void*) {
    if (raw != nullptr) static_cast<EventLoop*>(context)->deliver(Napi::Env(raw));
  };
  const napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, call, &call_);
  if (status != napi_ok) throw Napi::Error::New(env);
  napi_unref_threadsafe_function(env, call_);
  is_open_ = true;
  // Runs before anything of the thread is destroyed.
  env.AddCleanupHook([this] { close(); });
}

void EventLoop::close() {
  for (const auto& weak : groups_) {
    if (const auto group = weak.lock()) leave_with_thread(Engine::the(), *group);
  }
  std::deque<Callback> undelivered;
  const std::lock_guard<std::mutex> lock(mutex_);
  is_open_ = false;
  undelivered.swap(callbacks_);
  napi_release_threadsafe_function(call_, napi_tsfn_abort);
}

void EventLoop::send(Callback callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_open_) return;
  callbacks_.push_back(std::move(callback));
  if (is_called_) return;
  is_called_ = true;
  napi_call_threadsafe_function(call_, nullptr, napi_tsfn_nonblocking);
}

void EventLoop::deliver(Napi::Env env) {
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

void EventLoop::hold(Napi::Env env) {
  if (holds_++ == 0) napi_ref_threadsafe_function(env, call_);
}

void EventLoop::release(Napi::Env env) {
  if (--holds_ == 0) napi_unref_threadsafe_function(env, call_);
}

}  // namespace coll
