#include "waiter.h"

#include <algorithm>
#include <utility>

namespace coll {
namespace {

bool is_there(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::memory_order order = std::memory_order_acquire) {
  const std::uint32_t seen = word.load(order);
  return seen == value || seen == value + 2;
}

// The first rank from `rank` on that has not arrived; the number of ranks if all have.
std::size_t first_missing(const Words& words, std::uint32_t value, std::size_t rank, std::memory_order order = std::memory_order_acquire) {
  while (rank < words.size() && is_there(*words[rank], value, order)) ++rank;
  return rank;
}

// Both sides of the gate call this. A rank that sleeps counts itself, then looks at the words; a
// rank that arrives writes its word, then looks at the count. So at least one of them sees the
// other.
bool are_all_there(const Words& words, std::uint32_t value) {
  return first_missing(words, value, 0, std::memory_order_seq_cst) == words.size();
}

bool arrives(const std::atomic<std::uint32_t>& word, std::uint32_t value, int spins) {
  for (int spin = 0; spin < spins; ++spin) {
    if (spin > 0) pause();
    if (is_there(word, value)) return true;
  }
  return false;
}

}  // namespace

Waiter::Waiter(int rank, Cores cores, Gate gate, const LocalRank& local, const std::atomic<std::int32_t>& failure, Reach reach)
    : rank_(static_cast<std::size_t>(rank)), cores_(std::move(cores)), gate_(gate), crowding_(!local.has_own_core()), assigned_core_(local), failure_(failure),
      reach_(reach) {}

Waiter::~Waiter() {
  if (usual_time_slice_ != 0 && std::this_thread::get_id() == maker_) restore_time_slice(usual_time_slice_);
}

Patience Waiter::blocking(int sleep_millis) const {
  const Patience& patience = shares_core() ? tuning::kSharedCore : tuning::kOwnCore;
  return {patience.spins, patience.rounds, sleep_millis};
}

Patience Waiter::brief() const { return {blocking(0).spins, tuning::kBriefRounds, 0}; }

Patience Waiter::patient() const {
  const int more_millis = shares_core() ? static_cast<int>(cores_.size()) / tuning::kRanksPerPatientMilli : 0;
  const int sleep_millis = std::max(tuning::kLeastPatientMillis, more_millis);
  return {blocking(0).spins, tuning::kBriefRounds, sleep_millis};
}

void Waiter::publish_core() {
  if (shares_core()) assigned_core_.go_back();
  const int core = current_core() + 1;
  if (crowding_.is_learned()) crowding_.review(Clock::now(), is_any_on(core));
  // Writes only a changed value: other ranks read it before they wait, and a line that is not
  // written stays in all their caches.
  if (own_core().load(std::memory_order_relaxed) != core) own_core().store(core, std::memory_order_relaxed);
}

void Waiter::publish(const Words& words, int rank, std::uint32_t value) {
  words[static_cast<std::size_t>(rank)]->store(value, std::memory_order_seq_cst);
  if (gate_.sleepers.load(std::memory_order_seq_cst) == 0 || !are_all_there(words, value)) return;
  gate_.openings.fetch_add(1, std::memory_order_seq_cst);
  unpark(gate_.openings, reach_);
}

bool Waiter::await_all(const Words& words, std::uint32_t value, const Patience& patience) {
  const bool have_arrived = arrive_all(words, value, patience);
  wait_stamp_.end(have_arrived);
  return have_arrived;
}

bool Waiter::arrive_all(const Words& words, std::uint32_t value, const Patience& patience) {
  if (!shares_core() && spin(words, value, patience)) return true;
  if (shares_core() && take_turns(words, value, patience)) return true;
  // After a failure, checks all words once more: a rank that has seen the failure may be the last
  // one to arrive.
  if (has_failed() || patience.sleep_millis == 0) return first_missing(words, value, 0) == words.size();
  return sleep(words, value, patience.sleep_millis);
}

bool Waiter::spin(const Words& words, std::uint32_t value, const Patience& patience) {
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    if (!spin_for(words, rank, value, patience)) return false;
  }
  return true;
}

bool Waiter::spin_for(const Words& words, std::size_t rank, std::uint32_t value, const Patience& patience) {
  const std::atomic<std::uint32_t>& word = *words[rank];
  for (int round = 0; round < patience.rounds; ++round) {
    if (arrives(word, value, patience.spins)) return true;
    if (has_failed()) break;
    look_at_wait(rank);
    const bool is_elsewhere = avoid_core_of(*cores_[rank]);
    if (shares_core()) break;
    if (is_elsewhere && round < tuning::kRoundsWithoutYield) continue;
    if (!yields_briefly()) break;
  }
  return is_there(word, value);
}

void Waiter::look_at_wait(std::size_t missing) {
  if (wait_stamp_.look(Clock::now())) wait_stamp_.record(static_cast<int>(missing));
}

// Yields to the ranks on this core, which cannot arrive without it. Once they have arrived, polls
// the ranks on other cores.
bool Waiter::take_turns(const Words& words, std::uint32_t value, const Patience& patience) {
  std::size_t rank = 0;
  for (int turn = 0;; ++turn) {
    rank = first_missing(words, value, rank);
    if (rank == words.size()) return true;
    if (turn == patience.rounds || has_failed()) return false;
    look_at_wait(rank);
    const bool may_poll = turn < tuning::kPollingTurns && !is_core_needed(words, value, rank);
    if (may_poll && arrives(*words[rank], value, tuning::kElsewhereSpins)) continue;
    if (!yields_briefly()) return false;
  }
}

bool Waiter::is_core_needed(const Words& words, std::uint32_t value, std::size_t first) const {
  const int core = current_core() + 1;
  for (std::size_t rank = first; rank < words.size(); ++rank) {
    if (cores_[rank]->load(std::memory_order_relaxed) == core && !is_there(*words[rank], value)) return true;
  }
  return false;
}

bool Waiter::is_any_on(int core) const {
  for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
    if (rank != rank_ && cores_[rank]->load(std::memory_order_relaxed) == core) return true;
  }
  return false;
}

bool Waiter::sleep(const Words& words, std::uint32_t value, int millis) {
  gate_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = gate_.openings.load(std::memory_order_seq_cst);
  const std::size_t missing = first_missing(words, value, 0, std::memory_order_seq_cst);
  if (missing < words.size()) {
    wait_stamp_.look(Clock::now());
    wait_stamp_.record(static_cast<int>(missing));
    park(gate_.openings, seen, millis, reach_);
  }
  gate_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return are_all_there(words, value);
}

// Yields once. If that takes long, asks for shorter time slices and returns false.
bool Waiter::yields_briefly() {
  const auto before = Clock::now();
  yield();
  const auto of_ranks = shares_core() ? tuning::kLongYieldPerRank * static_cast<int>(cores_.size()) : tuning::kLongYield;
  if (Clock::now() - before < std::max(tuning::kLongYield, of_ranks)) return true;
  const std::uint64_t usual = take_short_time_slices();
  if (usual != 0 && std::this_thread::get_id() == maker_) usual_time_slice_ = usual;
  return false;
}

// Moves a waiting rank away from the core of the rank that it waits for: systems put threads that
// often wait for each other on the same core, where they can only take turns.
bool Waiter::avoid_core_of(const std::atomic<int>& other) {
  const int core = current_core() + 1;
  own_core().store(core, std::memory_order_relaxed);
  if (core == 0) return false;
  const int core_of_other = other.load(std::memory_order_relaxed);
  if (core_of_other != core) return core_of_other != 0;
  const auto now = Clock::now();
  if (now - moved_ < tuning::kLeastStay) return false;
  moved_ = now;
  crowding_.meet(now);
  if (!shares_core()) leave(core);
  return false;
}

void Waiter::leave(int core) {
  // Clears the published core, because moving takes a while: another waiting rank that still saw
  // this one on its core would move away as well.
  own_core().store(0, std::memory_order_relaxed);
  leave_core(core - 1);
  own_core().store(current_core() + 1, std::memory_order_relaxed);
}

}  // namespace coll
