#pragma once

#include <napi.h>

#include <memory>

#include "../engine/group.h"
#include "group_loop.h"

namespace coll {

// The JavaScript handle of a group.
struct GroupHandle {
  std::shared_ptr<Group> group;
  std::shared_ptr<GroupLoop> loop;
  std::shared_ptr<Napi::FunctionReference> wake;
};

// The JavaScript handle of a call.
struct PlanHandle {
  std::shared_ptr<Plan> plan;
};

template <class Held>
Napi::Value hold_in_javascript(Napi::Env env, Held* held) {
  return Napi::External<Held>::New(env, held, [](Napi::Env, Held* dropped) { delete dropped; });
}

// Calls napi_* functions directly, because every collective takes this path.
template <class Held>
Held& held_by(napi_env env, napi_value handle) {
  void* held = nullptr;
  napi_get_value_external(env, handle, &held);
  return *static_cast<Held*>(held);
}

}  // namespace coll
