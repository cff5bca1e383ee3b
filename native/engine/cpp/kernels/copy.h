#pragma once

#include <cstddef>

#include "fold.h"

namespace coll {

// A part of a copy, which overlaps nothing; others see what is streamed only after end_stream().
void copy_part(void* into, const void* from, std::size_t bytes, Write write);

}  // namespace coll
