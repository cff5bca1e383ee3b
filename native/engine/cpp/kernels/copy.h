#pragma once

#include <cstddef>

#include "fold.h"

namespace coll {

// Copies a part of a larger copy; the ranges must not overlap. Streamed bytes are visible to other
// threads only after end_stream().
void copy_part(void* into, const void* from, std::size_t bytes, Write write);

}  // namespace coll
