#pragma once

#if defined(__linux__)

#include <napi.h>

namespace coll {

// Calls of a group of processes, in the thread of JavaScript and in that of the group.
void add_calls(Napi::Object exports);

}  // namespace coll

#endif
