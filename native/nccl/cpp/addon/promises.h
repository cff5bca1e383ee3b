#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <vector>

#include "../work/operation.h"
#include "../work/scheduler.h"
#include "thread_loop.h"

namespace coll {

// Makes the value to which a promise resolves, on the JavaScript thread.
using MakeValue = std::function<Napi::Value(Napi::Env)>;

// Submits operations and returns a promise that settles when all have completed or one has failed.
Napi::Value promise_of(Napi::Env env, Scheduler& scheduler, const std::vector<SharedOperation>& operations, MakeValue value = {});

// Submits one operation and returns a promise for it.
Napi::Value promise_of(Napi::Env env, Scheduler& scheduler, const SharedOperation& operation, MakeValue value = {});

// A BindingError for JavaScript.
Napi::Error error_of(Napi::Env env, const Failure& failure, const std::string& operation, const std::string& group, std::uint64_t sequence);

// Keeps a JavaScript value from being collected until the result is destroyed, on any thread.
std::shared_ptr<void> keep(const Napi::Value& value);

}  // namespace coll
