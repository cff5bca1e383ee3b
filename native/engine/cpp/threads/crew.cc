#include "crew.h"

#include <algorithm>
#include <system_error>

#include "../tuning.h"

namespace coll {

std::shared_ptr<Crew> Crew::of_process() {
  static std::mutex mutex;
  static std::weak_ptr<Crew> crew;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Crew> found = crew.lock();
  if (!found) crew = found = std::make_shared<Crew>();
  return found;
}

void Crew::run(const Task& task, SharedJob& job) {
  // Asks for no more helpers than there are units.
  int asked = static_cast<int>(std::min(task.units(), static_cast<std::size_t>(job.most_workers()))) - 1;
  if (asked > 1) asked = limit_.allowed(asked, Clock::now());
  std::array<Claim, kMostHelpers> claims;
  const int claimed = asked > 0 ? claim(task, asked, claims.data()) : 0;
  job.begin(task, claimed + 1, claimed > 1);
  for (int i = 0; i < claimed; ++i) {
    const Claim& claim = claims[static_cast<std::size_t>(i)];
    claim.helper->offer(claim.ticket, job, i + 1);
  }
  job.work(0);
  int helped = 0;
  for (int i = 0; i < claimed; ++i) {
    const Claim& claim = claims[static_cast<std::size_t>(i)];
    if (claim.helper->withdraw(claim.ticket)) ++helped;
  }
  if (claimed < asked) alone_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  if (claimed > 1) limit_.learn(claimed, helped, job.times(), Clock::now());
}

// Reserves up to `asked` helpers that are free. Returns how many.
int Crew::claim(const Task& task, int asked, Claim* claims) {
  int claimed = 0;
  int to_wake = -1;
  for (int index = 0; claimed < asked && index < kMostHelpers; ++index) {
    const auto at = static_cast<std::size_t>(index);
    const bool has_started = index < started_.load(std::memory_order_acquire);
    if (!has_started || helpers_[at]->is_asleep()) {
      if (to_wake < 0) to_wake = worth_waking(task);
      if (to_wake == 0) break;
      --to_wake;
      if (!has_started && !start(index)) break;
    }
    const std::uint32_t ticket = helpers_[at]->reserve();
    if (ticket != 0) claims[claimed++] = {helpers_[at].get(), ticket};
  }
  return claimed;
}

// How many sleeping helpers a task may wake. If tasks follow each other closely, helpers woken by
// one are awake for the next. Helpers poll from the end of a task on, so the time until the next
// task decides.
int Crew::worth_waking(const Task& task) {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  const bool is_hot = Clock::duration(now - alone_.load(std::memory_order_relaxed)) < tuning::kCloselyFollowing;
  return static_cast<int>(std::min(task.bytes / (is_hot ? tuning::kHotBytesPerHelper : task.waking_bytes), std::size_t{kMostHelpers}));
}

// Starts a helper unless another owner has done so. Returns false if the system refuses a thread;
// the owner then does the work of this helper.
bool Crew::start(int index) {
  const std::lock_guard lock(starting_);
  if (index < started_.load(std::memory_order_relaxed)) return true;
  try {
    helpers_[static_cast<std::size_t>(index)] = std::make_unique<HelperThread>();
  } catch (const std::system_error&) {
    return false;
  }
  started_.store(index + 1, std::memory_order_release);
  return true;
}

}  // namespace coll
