#pragma once

#include <napi.h>

namespace coll {

// start(): Promise<Facts>
Napi::Value start(const Napi::CallbackInfo& info);
// openGroup(wake): Promise<GroupHandle>
Napi::Value open_group(const Napi::CallbackInfo& info);
// splitGroup(group, color, key, wake): Promise<GroupHandle | undefined>
Napi::Value split_group(const Napi::CallbackInfo& info);
// place(group): [rank, size]
Napi::Value place(const Napi::CallbackInfo& info);
// failure(group): [reason, rank, ranks, text] | undefined
Napi::Value failure_of(const Napi::CallbackInfo& info);
// fail(group, reason, rank, ranks, text, tells): void
Napi::Value fail(const Napi::CallbackInfo& info);
// announcements(group): Float64Array
Napi::Value announcements(const Napi::CallbackInfo& info);
// keepsMemory(group): boolean
Napi::Value keeps_memory(const Napi::CallbackInfo& info);
// post(group, rank, head, data): void
Napi::Value post(const Napi::CallbackInfo& info);
// events(group): [rank, ArrayBuffer | undefined][]
Napi::Value events(const Napi::CallbackInfo& info);
// listen(group, isListening): void
Napi::Value listen(const Napi::CallbackInfo& info);
// hold(group, isHeld): void
Napi::Value hold(const Napi::CallbackInfo& info);
// leave(group): void
Napi::Value leave(const Napi::CallbackInfo& info);
// finalize(seconds): boolean
Napi::Value finalize(const Napi::CallbackInfo& info);
// abortAtExit(code): void
Napi::Value abort_at_exit(const Napi::CallbackInfo& info);

// The fields of `Facts` in binding.ts.
Napi::Value facts_in(Napi::Env env);
// An Error with the fields of `BindingError` in binding.ts.
Napi::Error error_in(Napi::Env env, const class Error& error);

}  // namespace coll
