#pragma once

#if defined(__linux__)

#include <napi.h>

namespace coll {

// The executors of groups of processes, and the connections that they take over.
void add_executors(Napi::Object exports);

}  // namespace coll

#endif
