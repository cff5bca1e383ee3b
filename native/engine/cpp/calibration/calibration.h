#pragma once

#include <chrono>
#include <optional>

#include "../thresholds.h"

namespace coll {

// Measures the size of small inputs on this machine in a few milliseconds, at most about `most`, with
// two threads, which need a core each. The other thresholds keep their usual values. Returns nothing
// if there is not enough time, other programs take the cores meanwhile, or the system refuses a
// thread.
std::optional<Thresholds> calibrate(std::chrono::milliseconds most = std::chrono::milliseconds(30));

}  // namespace coll
