#pragma once

#if defined(__linux__)

#include <poll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "control_connection.h"
#include "failure.h"
#include "roll.h"
#include "watch.h"

namespace coll {

// The state of another member that the monitor knows.
struct WatchedMember {
  std::unique_ptr<ControlConnection> control;
  Clock::time_point heard;
  std::chrono::milliseconds patience{};  // how long it may be silent until it counts as lost
  std::optional<Clock::time_point> suspected;
  bool has_left = false;
  bool is_lost = false;
  bool has_reported = false;      // it has sent a failure over its connection
  std::uint64_t collectives = 0;  // collectives that it took part in before it left
  std::uint64_t completed = 0;    // collectives that it is known to have completed

  bool is_connected() const { return control->is_open(); }
  // Whether this rank watches the member, which must then keep sending.
  bool is_watched() const { return is_connected() && !has_left; }
  // Whether no more messages of this member are expected.
  bool is_out() const { return has_left || is_lost; }
};

// All members by rank. This rank has connections with some of them, none with itself.
class WatchedMembers {
 public:
  // Takes over the sockets of `watch`.
  WatchedMembers(const Watch& watch, Clock::time_point now);

  std::size_t size() const { return members_.size(); }
  bool has(int rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < members_.size(); }
  WatchedMember& operator[](std::size_t rank) { return members_[rank]; }
  std::vector<WatchedMember>::const_iterator begin() const { return members_.begin(); }
  std::vector<WatchedMember>::const_iterator end() const { return members_.end(); }
  std::vector<WatchedMember>::iterator begin() { return members_.begin(); }
  std::vector<WatchedMember>::iterator end() { return members_.end(); }

  // Sends a frame over all connections but that of the rank `except`.
  void tell_all(const std::string& frame, int except = -1);
  // Whether any connection has data that was not read yet.
  bool have_news();
  // Whether frames wait for a flush.
  bool have_unsent() const;
  // Whether all connections have ended.
  bool are_gone() const;
  // How many members this rank watches.
  std::ptrdiff_t watched() const;
  // Whether every member that is still expected to send has announced its failure to all others.
  // `announced`: the ranks that have.
  bool have_announced(const Failure& failure, const Roll& announced) const;
  // Whether every member except `own` has completed the first `collectives` collectives, or can
  // need nothing of them.
  bool have_completed(std::uint64_t collectives, int own) const;

 private:
  std::vector<WatchedMember> members_;
  std::vector<pollfd> polled_;
};

}  // namespace coll

#endif
