#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll {

// What a rank asks for, as the descriptors of @coll/core have it. The first kAgreedWords numbers
// must be the same on all ranks.
constexpr std::size_t kStateWords = 14;
constexpr std::size_t kAgreedWords = 8;
using State = std::array<double, kStateWords>;

// What a rank reports about the collective number `sequence`: how many collectives it has begun,
// and the state that it asked for in this one, if that is still known.
struct Answer {
  std::uint64_t sequence = 0;
  std::uint64_t begun = 0;
  bool is_known = false;
  State state{};

  bool has_come() const { return begun > sequence; }
};

// The collectives that this rank has begun. The executing thread writes, the monitor reads, and
// neither waits for the other. The states of the last collectives are kept; a reader finds out by
// the count whether the state that it has read was overwritten meanwhile.
//
// If begin() and leave_after() run at the same time, both may miss that the other rank has left.
// Therefore the executing thread has to call is_forsaken() while it waits.
class Calls {
 public:
  // Counts the next collective. Returns false if a rank has left that does not take part in it.
  bool begin(const State& state);
  void end();

  // The number of the collective under way, or of the next one.
  std::uint64_t current() const;
  Answer answer(std::uint64_t sequence) const;
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
  std::array<std::array<std::atomic<double>, kStateWords>, kRemembered> states_{};
};

}  // namespace coll
