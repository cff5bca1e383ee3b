#pragma once

#include <chrono>

namespace coll {

// The clock of all waits and deadlines of the engine.
using Clock = std::chrono::steady_clock;

}  // namespace coll
