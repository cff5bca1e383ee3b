#pragma once

#include <napi.h>

namespace coll {

// See NcclBinding in TypeScript.
Napi::Value unique_id(const Napi::CallbackInfo& info);
Napi::Value communicator(const Napi::CallbackInfo& info);
Napi::Value open(const Napi::CallbackInfo& info);
Napi::Value split(const Napi::CallbackInfo& info);
Napi::Value run(const Napi::CallbackInfo& info);
Napi::Value abort_communicator(const Napi::CallbackInfo& info);
Napi::Value destroy(const Napi::CallbackInfo& info);

}  // namespace coll
