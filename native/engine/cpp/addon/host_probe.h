#pragma once

#include <napi.h>

namespace coll {

// Adds probeHost(), on platforms that support groups of processes.
void add_host_probe(Napi::Object exports);

}  // namespace coll
