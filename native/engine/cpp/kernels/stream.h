#pragma once

#include <cstddef>

namespace coll {

// into[i] = from[i] past the caches, where the processor can. Other threads see it as written after `end_stream`.
void stream(void* into, const void* from, std::size_t bytes);
void end_stream();

}  // namespace coll
