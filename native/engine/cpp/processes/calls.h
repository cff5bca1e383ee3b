#pragma once

#include <array>
#include <atomic>
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

// The collectives that this rank has begun. Written by the thread that plays, and read by the monitor.
class Calls {
 public:
  // Counts the next collective; false where it is one in which a rank that has left does not take part.
  bool begin(const State& state);
  void end();

  // The number of the collective under way, or of the next one.
  std::uint64_t current();
  Answer answer(std::uint64_t sequence);
  // A rank has left, which took part in so many: whether one is under way that waits for it in vain.
  bool leave_after(std::uint64_t count);

 private:
  class Lock;
  static constexpr std::uint64_t kRemembered = 16;

  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  std::uint64_t begun_ = 0;
  std::atomic<bool> is_under_way_{false};
  std::uint64_t last_ = UINT64_MAX;
  std::array<State, kRemembered> states_{};
};

}  // namespace coll
