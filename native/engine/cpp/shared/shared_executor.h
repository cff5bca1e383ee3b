#pragma once

#if defined(__linux__)

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "../clock.h"
#include "../processes/executor.h"
#include "../threads/waiter.h"
#include "shared_memory.h"
#include "slot_work.h"

namespace coll {

// A rank of a group of processes on one host. A collective takes some phases. In each a rank works, says so, and waits for all others:
//
//     announce | work | work | ... | work
//
// What is written in a phase is read by others in the next one, so that a rank is never more than one phase ahead of another. Nobody waits
// after the last phase if only slots were read in it; a rank's arena is read and written by others, who have to be done with it.
//
// If ranks share a core, one that has it does the slices of those that wait for it, as far as they lie in arenas: so each rank has to come to the
// core once a collective, and not twice. Whoever begins a slice claims it first; of large ones, whose units anybody takes, it answers for the end.
// Who finds its own claimed reads nothing of what was announced: the others may be at the next collective, where they can get no further without it.
//
// Nobody leaves a collective before all are done with it, but when the group has failed. What others may still do then goes to slots and
// to outputs in arenas, which stay mapped as long as anybody may write there.
class SharedExecutor : public Executor {
 public:
  // `local`: among the ranks of this host. All ranks have opened each other's segments; the failure word outlives the executor.
  SharedExecutor(std::shared_ptr<SharedMemory> memory, int rank, int size, const LocalRank& local, const FailureWord& failure);

  Status execute(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice = kLongestTimeSlice) override;
  void abandon() override;

 private:
  // How data travels: along with announcements, from arena to arena, or at least in part through slots.
  enum class Protocol { kEager, kDirect, kPipelined };
  // How long all others together are waited for, from when one has kept this rank waiting `once`.
  struct Limit {
    std::chrono::microseconds patience;
    Patience once;
    std::optional<Clock::time_point> end;
  };
  // When to come back to the caller, from the first work that is worth it.
  struct Pause {
    std::chrono::microseconds time_slice;
    std::optional<Clock::time_point> at;

    void await_from_now() {
      if (!at) at = Clock::now() + time_slice;
    }
    bool is_due() const { return Clock::now() >= *at; }
  };
  SharedRankState& state(int rank) const { return *states_[static_cast<std::size_t>(rank)]; }
  SharedAnnouncement& announcement(int rank) const { return state(rank).announcements[phase_ & 1]; }
  auto core_of() const {
    return [this](int rank) -> const std::atomic<int>& { return state(rank).core; };
  }
  Presence presence(int rank) const { return {state(rank).core, state(rank).parked}; }
  RankMemory& memory_of(int rank) { return memories_[static_cast<std::size_t>(rank)]; }

  void begin(const Offer& offer);
  void announce(const Offer& offer);
  void publish();
  void publish_for(int rank) { waiter_.publish_for(presence(rank), announcement(rank).phase, phase_); }
  bool awaits(int rank) const { return rank != rank_ || is_helped_; }
  bool await_all(std::chrono::microseconds patience);
  bool await_one(int rank, Limit& limit);
  bool take_part(const Offer& offer);
  bool all_agree(const Offer& offer) const;
  bool take_up(const Offer& offer);
  bool take_up_memory(const Offer& offer, int rank);
  void take_up_own_memory(const Offer& offer);
  // The last phases are not worth coming back for; collectives of no more than two, and without units, need no clock.
  bool may_pause() const {
    if (is_helped_) return false;
    return protocol_ == Protocol::kDirect ? step_ == 1 && slices_->has_units() : step_ + 1 < last_step_;
  }
  bool work(Offer& offer, const Pause& pause);
  void execute_small(const Offer& offer);
  bool execute_direct(Offer& offer, const Pause& pause);
  bool execute_slice(const Offer& offer, int rank, const Pause& pause);
  bool claim_slice(int rank);
  template <class Claimed>
  void claim_slices_here(Claimed claimed);
  void help(const Offer& offer, const Pause& pause);
  void execute_slots(const Offer& offer);

  const std::shared_ptr<SharedMemory> memory_;
  const std::vector<SharedRankState*> states_;  // by rank
  const int rank_;
  const int ranks_;
  Waiter waiter_;
  std::uint32_t phase_ = 1;  // that this rank works for, or waits for
  bool is_under_way_ = false;
  bool is_small_ = false;
  bool is_at_work_ = false;  // in the midst of a phase
  bool is_helped_ = false;   // another rank has claimed this one's slice
  std::vector<int> helped_;  // of whose units this one tells that they are done
  Protocol protocol_ = Protocol::kEager;
  std::uint32_t private_memory_ = 0;  // of this rank's own memory
  std::size_t step_ = 0;      // phases of this collective that are over
  std::size_t last_step_ = 0;
  std::optional<WorkSlices> slices_;
  std::optional<SlotBlocks> blocks_;
  std::vector<RankMemory> memories_;
  std::vector<const std::byte*> small_inputs_;
  GroupBuffers buffers_;
  Scratch scratch_;
  SlotWork slots_;
};

}  // namespace coll

#endif
