#include "calls.h"

#include <algorithm>

#include "../threads/waiting.h"

namespace coll {

// Held for some nanoseconds, by two threads at most.
class Calls::Lock {
 public:
  explicit Lock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) yield();
  }
  ~Lock() { flag_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& flag_;
};

bool Calls::begin(const State& state) {
  const Lock lock(lock_);
  if (begun_ >= last_) return false;
  states_[begun_ % kRemembered] = state;
  ++begun_;
  is_under_way_ = true;
  return true;
}

void Calls::end() { is_under_way_.store(false, std::memory_order_release); }

std::uint64_t Calls::current() {
  const Lock lock(lock_);
  return is_under_way_ ? begun_ - 1 : begun_;
}

Answer Calls::answer(std::uint64_t sequence) {
  const Lock lock(lock_);
  Answer answer{sequence, begun_, sequence < begun_ && begun_ - sequence <= kRemembered, {}};
  if (answer.is_known) answer.state = states_[sequence % kRemembered];
  return answer;
}

bool Calls::leave_after(std::uint64_t count) {
  const Lock lock(lock_);
  last_ = std::min(last_, count);
  return is_under_way_ && begun_ > last_;
}

}  // namespace coll
