#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "../clock.h"

namespace coll {

// Compares the times of two ways to do the same work, and detects whether other programs use the
// cores meanwhile.
class Stopwatch {
 public:
  using Nanos = std::chrono::duration<double, std::nano>;

  explicit Stopwatch(Clock::duration most) : end_(Clock::now() + most) {}

  // The median times of both ways. They are measured in turns, so that both meet the same
  // disturbances. `rounds` is odd and at most kMostRounds. One more round comes first and is not
  // counted.
  struct Times {
    Nanos usual;
    Nanos other;
  };
  template <class Usual, class Other>
  Times compare(std::size_t rounds, Usual usual, Other other) {
    Rounds usual_rounds{};
    Rounds other_rounds{};
    for (std::size_t round = 0; round <= rounds && !is_over(); ++round) {
      usual_rounds[round] = time_of(usual);
      other_rounds[round] = time_of(other);
    }
    return {median_of(usual_rounds, rounds), median_of(other_rounds, rounds)};
  }

  // Whether other programs have taken the cores for more than a fifth of the time.
  bool is_disturbed() const { return 5 * suspended_ > all_; }
  // Whether the time limit has passed. The latest comparison is then incomplete and must not be
  // used.
  bool is_over() const { return Clock::now() >= end_; }

  static constexpr std::size_t kMostRounds = 15;

 private:
  using Rounds = std::array<Nanos, kMostRounds + 1>;
  // A longer gap between two looks at the clock means that the thread was suspended. Systems
  // suspend threads for a millisecond or more.
  static constexpr std::chrono::microseconds kSuspension{500};

  template <class Work>
  static Nanos time_of(Work& work) {
    const auto begin = Clock::now();
    work();
    return Clock::now() - begin;
  }

  Nanos median_of(Rounds& times, std::size_t rounds) {
    const auto first = times.begin() + 1;
    const auto last = first + static_cast<std::ptrdiff_t>(rounds);
    std::sort(first, last);
    for (auto time = first; time != last; ++time) {
      all_ += *time;
      if (*time > *first + kSuspension) suspended_ += *time - *first;
    }
    return first[static_cast<std::ptrdiff_t>(rounds / 2)];
  }

  const Clock::time_point end_;
  Nanos all_{};
  Nanos suspended_{};
};

}  // namespace coll
