#pragma once

#if defined(__linux__)

#include <napi.h>

namespace coll {

// Adds the functions that set the executor of a group of processes and take over its connections.
void add_executors(Napi::Object exports);

}  // namespace coll

#endif
