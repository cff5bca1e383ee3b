#pragma once

#if defined(__linux__)

#include <napi.h>

namespace coll {

// What plays the calls of a group of processes, and the connections that it takes over.
void add_players(Napi::Object exports);

}  // namespace coll

#endif
