#pragma once

#include <memory>
#include <vector>

#include "../../../engine/cpp/addon/event_loop.h"
#include "../engine/group.h"

namespace coll {

// The event loop of one JavaScript thread. Knows the groups of the thread, which end with it.
class GroupLoop final : public EventLoop {
 public:
  // The loop of the calling JavaScript thread.
  static std::shared_ptr<GroupLoop> of(Napi::Env env) { return EventLoop::of<GroupLoop>(env, "coll mpi"); }

  // Called on the JavaScript thread.
  void add(std::shared_ptr<Group> group) { groups_.push_back(std::move(group)); }

 private:
  void end_thread() override;

  std::vector<std::weak_ptr<Group>> groups_;
};

}  // namespace coll
