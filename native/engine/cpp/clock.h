#pragma once

#include <chrono>

namespace coll {

// Every wait and deadline of the engine is measured on this one.
using Clock = std::chrono::steady_clock;

}  // namespace coll
