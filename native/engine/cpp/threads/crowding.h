#pragma once

#include "../clock.h"

namespace coll {

// Detects whether a rank shares its core with other ranks. This is certain if there are fewer cores
// than ranks. Otherwise it is learned, because systems may report more cores than they give: a rank
// that finds another rank on its core moves to another core. If it soon finds a rank there as well,
// several times in a row, there are too few cores.
class Crowding {
 public:
  explicit Crowding(bool is_certain) : is_certain_(is_certain), is_crowded_(is_certain) {}

  bool is_crowded() const { return is_crowded_; }
  // Whether is_crowded() was learned, and may change again.
  bool is_learned() const { return is_crowded_ && !is_certain_; }

  // Records that this rank, while it waited, was on the core of the awaited rank. Called at most
  // once per tuning::kLeastStay.
  void meet(Clock::time_point now);
  // If is_learned(): records whether another rank is on this rank's assigned core now.
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
