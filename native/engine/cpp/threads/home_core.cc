#include "home_core.h"

#include "waiting.h"

namespace coll {
namespace {

// Moving costs some ten microseconds, and a system that has a reason to move the rank does so again.
constexpr std::chrono::milliseconds kLeastStay{1};

}  // namespace

void HomeCore::come_back() {
  if (local_.has_own_core() || current_core() == core_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - came_ < kLeastStay) return;
  came_ = now;
  core_ = go_to_core(local_.number, local_.ranks);
}

}  // namespace coll
