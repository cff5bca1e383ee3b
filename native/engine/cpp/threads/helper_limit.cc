#include "helper_limit.h"

#include <algorithm>

#include "../tuning.h"

namespace coll {
namespace {

bool was_suspended(const HelperLimit::UnitTimes& times) {
  return times.longest > tuning::kLongUnit && times.longest > tuning::kLongUnits * times.shortest;
}

}  // namespace

int HelperLimit::allowed(int wanted, Clock::time_point now) const {
  const int limit = limit_.load(std::memory_order_relaxed);
  if (wanted <= limit) return wanted;
  return now < resumes_.load(std::memory_order_relaxed) ? limit : limit + 1;
}

void HelperLimit::learn(int asked, int helped, const UnitTimes& times, Clock::time_point now) {
  if (asked < 2) return;
  const int limit = limit_.load(std::memory_order_relaxed);
  if (was_suspended(times)) {
    limit_.store(std::max(1, std::min(limit, helped / 2)), std::memory_order_relaxed);
    wait_longer(now);
  } else if (asked > limit) {
    // A helper that does not begin in time has no core.
    if (helped < asked) return wait_longer(now);
    limit_.store(asked, std::memory_order_relaxed);
    pause_.store(pause_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  }
}

void HelperLimit::wait_longer(Clock::time_point now) {
  const Clock::duration pause = std::clamp<Clock::duration>(2 * pause_.load(std::memory_order_relaxed), tuning::kLeastPause, tuning::kLongestPause);
  pause_.store(pause, std::memory_order_relaxed);
  resumes_.store(now + pause, std::memory_order_relaxed);
}

}  // namespace coll
