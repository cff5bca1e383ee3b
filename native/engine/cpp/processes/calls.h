#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../clock.h"

namespace coll {

// A description of a rank's call, in the numbers of the descriptors of @coll/core. The first
// kAgreedWords numbers must be the same on all ranks.
constexpr std::size_t kStateWords = 14;
constexpr std::size_t kAgreedWords = 8;
using State = std::array<double, kStateWords>;

// The answer of a rank to a question about the collective with number `sequence`: the number of
// collectives that it has begun, and its state in that collective, if still known.
struct Answer {
  std::uint64_t sequence = 0;
  std::uint64_t begun = 0;
  bool is_known = false;
  State state{};
  // Milliseconds since the event loop of the rank has turned.
  std::uint32_t quiet_millis = 0;

  bool has_come() const { return begun > sequence; }
};

// The collectives that this rank has begun. The executing thread writes, the monitor reads, and
// neither waits for the other. The states of the latest collectives are kept; a reader checks the
// count to detect that a state was overwritten while it was read.
//
// If begin() and leave_after() run at the same time, neither may notice the other. Therefore the
// executing thread must call is_forsaken() while it waits.
class Calls {
 public:
  // Counts the next collective. Returns false if a rank has left that takes no part in it.
  bool begin(const State& state);
  void end();

  // The number of the collective under way, or of the next one.
  std::uint64_t current() const;
  Answer answer(std::uint64_t sequence) const;
  // Records that the event loop of this rank turns.
  void note_turn();
  // Records that a rank has left after `count` collectives. Returns whether a collective is under
  // way that waits for that rank in vain. For the monitor.
  bool leave_after(std::uint64_t count);
  // Whether a collective is under way that waits in vain for a rank that has left.
  bool is_forsaken() const;

 private:
  static constexpr std::uint64_t kRemembered = 16;

  // Twice the number of collectives begun, plus one while the last of them is under way.
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<std::uint64_t> last_{UINT64_MAX};
  std::atomic<Clock::rep> turned_{Clock::now().time_since_epoch().count()};
  std::array<std::array<std::atomic<double>, kStateWords>, kRemembered> states_{};
};

}  // namespace coll
