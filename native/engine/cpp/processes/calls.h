#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll {

// What a rank asks for, as the descriptors of @coll/core have it: those numbers come first that all ranks must have alike.
constexpr std::size_t kStateWords = 11;
constexpr std::size_t kAgreedWords = 7;
using State = std::array<double, kStateWords>;

// What a rank says of a collective by its number: how many it has begun, and of this one, if it was not long ago, what it asked for.
struct Answer {
  std::uint64_t sequence = 0;
  std::uint64_t begun = 0;
  bool is_known = false;
  State state{};

  bool has_come() const { return begun > sequence; }
};

// The collectives that this rank has begun. Written by the executing thread, and read by the monitor, for which that thread does not stop: the
// words of a state are written over when so many others have begun since, which whoever has read one of them finds in the count.
//
// begin() and leave_after() may miss each other, so that nobody is told of a leaver. The executing thread has to call is_forsaken() while it waits.
class Calls {
 public:
  // Counts the next collective; false where it is one in which a rank that has left does not take part.
  bool begin(const State& state);
  void end();

  // The number of the collective under way, or of the next one.
  std::uint64_t current() const;
  Answer answer(std::uint64_t sequence) const;
  // A rank has left, which took part in so many: whether one is under way that waits for it in vain. For the monitor.
  bool leave_after(std::uint64_t count);
  // Whether that is so by now.
  bool is_forsaken() const;

 private:
  static constexpr std::uint64_t kRemembered = 16;

  // Twice the number of those begun; one more while the last of them is under way.
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<std::uint64_t> last_{UINT64_MAX};
  std::array<std::array<std::atomic<double>, kStateWords>, kRemembered> states_{};
};

}  // namespace coll
