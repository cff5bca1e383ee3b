#include "crowding.h"

#include <algorithm>

#include "../tuning.h"

namespace coll {

void Crowding::meet(Clock::time_point now) {
  meetings_ = now - met_ < tuning::kSoonAgain ? meetings_ + 1 : 1;
  met_ = now;
  if (meetings_ < tuning::kMostMeetings) return;
  meetings_ = 0;
  is_crowded_ = true;
  pause_ = tuning::kLeastPause;
  review_ = now + pause_;
}

void Crowding::review(Clock::time_point now, bool is_shared) {
  if (now < review_) return;
  is_crowded_ = is_shared;
  pause_ = std::min<Clock::duration>(2 * pause_, tuning::kLongestPause);
  review_ = now + pause_;
}

}  // namespace coll
