#include "waiter.h"

namespace coll {
Waiter::Waiter(Presence own, const LocalRank& local, const std::atomic<std::int32_t>& failure, Reach reach)
    : own_(own), has_own_core_(local.has_own_core()), assigned_core_(local), failure_(failure), reach_(reach) {}

Waiter::~Waiter() {
  if (usual_time_slice_ != 0 && std::this_thread::get_id() == maker_) restore_time_slice(usual_time_slice_);
}

Patience Waiter::blocking(int sleep_millis) const {
  const Patience& patience = has_own_core_ ? tuning::kOwnCore : tuning::kSharedCore;
  return {patience.spins, patience.rounds, sleep_millis};
}

Patience Waiter::brief() const { return {blocking(0).spins, tuning::kBriefRounds, 0}; }

Patience Waiter::patient() const { return {blocking(0).spins, tuning::kBriefRounds, tuning::kPatientSleepMillis}; }

Patience Waiter::polling() const { return tuning::kElsewhere; }

void Waiter::publish_core() {
  assigned_core_.go_back();
  const int core = current_core() + 1;
  // Written only if it changes: other ranks read it before they wait, and a line that is not
  // written stays in all their caches.
  if (own_.core.load(std::memory_order_relaxed) != core) own_.core.store(core, std::memory_order_relaxed);
}

void Waiter::publish_for(const Presence& owner, std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word.store(value, std::memory_order_seq_cst);
  if (owner.parked.load(std::memory_order_seq_cst) != 0) unpark(word, reach_);
}

bool Waiter::await(std::atomic<std::uint32_t>& word, std::uint32_t value, const Presence& other, const Patience& patience) {
  const auto is_there = [value](std::uint32_t seen) { return seen == value || seen == value + 2; };
  for (int round = 0; round < patience.rounds; ++round) {
    for (int spin = 0; spin < patience.spins; ++spin) {
      if (spin > 0) pause();
      if (is_there(word.load(std::memory_order_acquire))) return true;
    }
    if (has_failed()) return is_there(word.load(std::memory_order_acquire));
    const bool is_elsewhere = avoid_core_of(other);
    if (is_elsewhere && round < tuning::kRoundsWithoutYield) continue;
    if (!yields_briefly()) break;
  }
  std::uint32_t seen = word.load(std::memory_order_acquire);
  if (is_there(seen) || patience.sleep_millis == 0) return is_there(seen);
  other.parked.fetch_add(1, std::memory_order_seq_cst);
  seen = word.load(std::memory_order_seq_cst);
  if (!is_there(seen)) park(word, seen, patience.sleep_millis, reach_);
  other.parked.fetch_sub(1, std::memory_order_seq_cst);
  return is_there(word.load(std::memory_order_acquire));
}

// Yields once. If that takes long, asks for shorter time slices and returns false.
bool Waiter::yields_briefly() {
  const auto before = Clock::now();
  yield();
  if (Clock::now() - before < tuning::kLongYield) return true;
  const std::uint64_t usual = take_short_time_slices();
  if (usual != 0 && std::this_thread::get_id() == maker_) usual_time_slice_ = usual;
  return false;
}

// Systems put threads that often wait for each other on the same core, where they can only take
// turns: the rank that waits moves to another core.
bool Waiter::avoid_core_of(const Presence& other) {
  if (!has_own_core_) return false;
  const int core = current_core() + 1;
  own_.core.store(core, std::memory_order_relaxed);
  if (core == 0) return false;
  const int core_of_other = other.core.load(std::memory_order_relaxed);
  if (core_of_other != core) return core_of_other != 0;
  if (is_time_to_move()) leave(core);
  return false;
}

bool Waiter::is_time_to_move() {
  const auto now = Clock::now();
  if (now - moved_ < tuning::kLeastStay) return false;
  moved_ = now;
  return true;
}

void Waiter::leave(int core) {
  // Moving takes a while. Meanwhile, another waiting rank that still saw this one on its core would
  // move away as well.
  own_.core.store(0, std::memory_order_relaxed);
  leave_core(core - 1);
  own_.core.store(current_core() + 1, std::memory_order_relaxed);
}

}  // namespace coll
