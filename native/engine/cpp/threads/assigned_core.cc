#include "assigned_core.h"

#include "waiting.h"

namespace coll {

void AssignedCore::go_back() {
  if (current_core() == core_) return;
  const auto now = Clock::now();
  if (now - returned_ < least_stay_) return;
  returned_ = now;
  core_ = go_to_core(local_.number, local_.ranks);
}

}  // namespace coll
