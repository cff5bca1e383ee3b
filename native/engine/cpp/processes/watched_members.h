#pragma once

#if defined(__linux__)

#include <poll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "calls.h"
#include "control_connection.h"
#include "failure.h"

namespace coll {

// Another member, as far as the monitor knows it.
struct WatchedMember {
  std::unique_ptr<ControlConnection> control;
  Clock::time_point heard;
  std::chrono::milliseconds patience{};  // how long it may be silent until it counts as lost
  std::optional<Clock::time_point> suspected;
  std::optional<Answer> answer;
  bool has_opened = false;  // it has opened the group
  bool has_left = false;
  std::uint64_t collectives = 0;  // collectives that it took part in before it left
  bool has_ended = false;         // nothing more arrives from it
  bool has_told = false;          // it has reported its failure

  bool is_gone() const { return !control->is_open(); }
  // Whether it has to keep sending.
  bool is_watched() const { return !is_gone() && !has_left; }
};

// All members by rank. One's own is gone from the start.
class WatchedMembers {
 public:
  // Takes over connected, non-blocking sockets; -1 for one's own.
  WatchedMembers(const std::vector<int>& sockets, Clock::time_point now);

  std::size_t size() const { return members_.size(); }
  WatchedMember& operator[](std::size_t rank) { return members_[rank]; }
  std::vector<WatchedMember>::const_iterator begin() const { return members_.begin(); }
  std::vector<WatchedMember>::const_iterator end() const { return members_.end(); }
  std::vector<WatchedMember>::iterator begin() { return members_.begin(); }
  std::vector<WatchedMember>::iterator end() { return members_.end(); }

  void tell_all(const std::string& frame);
  // Whether any connection has data that was not read yet.
  bool have_news();
  // Whether all members have answered that still can.
  bool have_answered() const;
  bool are_gone() const;
  // How many members have to keep sending.
  std::ptrdiff_t watched() const;
  // Whether all members have reported their failures that have something to report after this one.
  bool have_told(const Failure& failure) const;

 private:
  std::vector<WatchedMember> members_;
  std::vector<pollfd> polled_;
};

}  // namespace coll

#endif
