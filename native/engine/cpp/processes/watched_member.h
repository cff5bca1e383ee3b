#pragma once

#if defined(__linux__)

#include <memory>
#include <optional>

#include "calls.h"
#include "control_connection.h"

namespace coll {

// Another member, as far as the monitor knows it.
struct WatchedMember {
  std::unique_ptr<ControlConnection> control;
  Clock::time_point heard;
  std::optional<Clock::time_point> suspected;
  std::optional<Answer> answer;
  bool has_opened = false;  // the group, and needs nothing else to do so
  bool has_left = false;
  std::uint64_t collectives = 0;  // that it took part in before
  bool has_ended = false;         // nothing more comes from it
  bool has_told = false;          // its failure

  bool is_gone() const { return !control->is_open(); }
};

}  // namespace coll

#endif
