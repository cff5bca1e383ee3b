#pragma once

#include <napi.h>

namespace coll {

// plan(kind, op, dtype, root, count, isWide, name, announcement, inputs, outputs): PlanHandle
Napi::Value make_plan(const Napi::CallbackInfo& info);
// run(group, plan, millis, isChecked, patienceMicros): Status
napi_value run(napi_env env, napi_callback_info info);
// runSync(group, plan, millis, isChecked): Status
napi_value run_sync(napi_env env, napi_callback_info info);
// wait(group): Status
napi_value wait(napi_env env, napi_callback_info info);
// status(group): Status
Napi::Value status_of(const Napi::CallbackInfo& info);

}  // namespace coll
