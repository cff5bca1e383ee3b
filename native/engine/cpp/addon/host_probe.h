#pragma once

#include <napi.h>

namespace coll {

// Adds what a system refuses to groups of processes, where the platform has them.
void add_host_probe(Napi::Object exports);

}  // namespace coll
