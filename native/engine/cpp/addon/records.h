#pragma once

#include <napi.h>

namespace coll {

// Adds the functions for flight recorders, on platforms that support them.
void add_records(Napi::Object exports);

}  // namespace coll
