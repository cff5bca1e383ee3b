#pragma once

#include <chrono>
#include <optional>

#include "../thresholds.h"

namespace coll {

// Measures the thresholds of this machine in at most about `most`, with two threads, which need a
// core each, and 32 MiB of memory. A threshold for which there is no time, or that makes no clear difference, keeps its
// usual value. Returns nothing if other programs take the cores meanwhile, or the system refuses a
// thread.
std::optional<Thresholds> calibrate(std::chrono::milliseconds most = std::chrono::milliseconds(30));

}  // namespace coll
