#pragma once

#include "../clock.h"

namespace coll {

// Whether a rank shares its core with other ranks. That is certain if there are fewer cores than
// ranks. Otherwise a rank learns it: systems may report cores that they do not give. A rank that
// finds another one on its core moves elsewhere. If it soon finds one there as well, again and
// again, there are too few cores.
class Crowding {
 public:
  explicit Crowding(bool is_certain) : is_certain_(is_certain), is_crowded_(is_certain) {}

  bool is_crowded() const { return is_crowded_; }
  // Whether is_crowded() was learned, and may change again.
  bool is_learned() const { return is_crowded_ && !is_certain_; }

  // A rank that waited was on the core of the awaited rank. Called at most once per
  // tuning::kLeastStay.
  void meet(Clock::time_point now);
  // If is_learned(): whether another rank is on this rank's assigned core now.
  void review(Clock::time_point now, bool is_shared);

 private:
  const bool is_certain_;
  bool is_crowded_;
  int meetings_ = 0;
  Clock::time_point met_{};
  Clock::duration pause_{};
  Clock::time_point review_{};
};

}  // namespace coll
