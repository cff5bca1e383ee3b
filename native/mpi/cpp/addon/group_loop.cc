#include "group_loop.h"

#include <sched.h>

#include "../engine/engine.h"

namespace coll {
namespace {

// How long an ending thread waits for the call that uses its memory.
constexpr auto kEndTime = std::chrono::seconds(2);

void leave_with_thread(Engine& engine, Group& group) {
  const auto until = Clock::now() + kEndTime;
  engine.own([&] { group.wake = nullptr; });
  while (engine.wait(group) == Status::kPending && Clock::now() < until) sched_yield();
  engine.own([&] { group.leave(); });
}

}  // namespace

void GroupLoop::end_thread() {
  for (const auto& weak : groups_) {
    if (const auto group = weak.lock()) leave_with_thread(Engine::the(), *group);
  }
}

}  // namespace coll
