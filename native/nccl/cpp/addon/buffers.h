#pragma once

#include <napi.h>

namespace coll {

// See NcclBinding in TypeScript.
Napi::Value allocate(const Napi::CallbackInfo& info);
Napi::Value adopt(const Napi::CallbackInfo& info);
Napi::Value free_buffer(const Napi::CallbackInfo& info);
Napi::Value address(const Napi::CallbackInfo& info);
Napi::Value write(const Napi::CallbackInfo& info);
Napi::Value read(const Napi::CallbackInfo& info);
Napi::Value copy(const Napi::CallbackInfo& info);
Napi::Value fill(const Napi::CallbackInfo& info);
Napi::Value allocate_host(const Napi::CallbackInfo& info);
Napi::Value free_host(const Napi::CallbackInfo& info);
Napi::Value memory(const Napi::CallbackInfo& info);
Napi::Value wait_for(const Napi::CallbackInfo& info);
Napi::Value order_after(const Napi::CallbackInfo& info);
Napi::Value divide(const Napi::CallbackInfo& info);
Napi::Value combine(const Napi::CallbackInfo& info);
Napi::Value copy_pieces(const Napi::CallbackInfo& info);

}  // namespace coll
