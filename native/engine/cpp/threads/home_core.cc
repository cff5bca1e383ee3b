#include "home_core.h"

#include "waiting.h"

namespace coll {

void HomeCore::come_back() {
  if (local_.has_own_core() || current_core() == core_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - came_ < kLeastStay) return;
  came_ = now;
  core_ = go_to_core(local_.number, local_.ranks);
}

}  // namespace coll
