#include "calls.h"

#include <algorithm>

namespace coll {
namespace {

std::uint64_t begun_of(std::uint64_t progress) { return progress / 2; }

bool is_under_way(std::uint64_t progress) { return progress % 2 != 0; }

}  // namespace

bool Calls::begin(const State& state) {
  const std::uint64_t number = begun_of(progress_.load(std::memory_order_relaxed));
  if (number >= last_.load(std::memory_order_acquire)) return false;
  auto& words = states_[number % kRemembered];
  for (std::size_t i = 0; i < kStateWords; ++i) words[i].store(state[i], std::memory_order_release);
  progress_.store(2 * (number + 1) + 1, std::memory_order_release);
  return true;
}

void Calls::end() { progress_.store(2 * begun_of(progress_.load(std::memory_order_relaxed)), std::memory_order_release); }

std::uint64_t Calls::current() const {
  const std::uint64_t progress = progress_.load(std::memory_order_acquire);
  return is_under_way(progress) ? begun_of(progress) - 1 : begun_of(progress);
}

Answer Calls::answer(std::uint64_t sequence) const {
  const auto quiet = Clock::now().time_since_epoch() - Clock::duration(turned_.load(std::memory_order_relaxed));
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(quiet).count();
  Answer answer{sequence, begun_of(progress_.load(std::memory_order_acquire)), false, {}, static_cast<std::uint32_t>(millis)};
  if (!answer.has_come()) return answer;
  const auto& words = states_[sequence % kRemembered];
  for (std::size_t i = 0; i < kStateWords; ++i) answer.state[i] = words[i].load(std::memory_order_acquire);
  answer.is_known = begun_of(progress_.load(std::memory_order_acquire)) - sequence < kRemembered;
  return answer;
}

void Calls::note_turn() { turned_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed); }

bool Calls::leave_after(std::uint64_t count) {
  last_.store(std::min(last_.load(std::memory_order_relaxed), count), std::memory_order_release);
  return is_forsaken();
}

bool Calls::is_forsaken() const {
  const std::uint64_t progress = progress_.load(std::memory_order_acquire);
  return is_under_way(progress) && begun_of(progress) > last_.load(std::memory_order_acquire);
}

}  // namespace coll
