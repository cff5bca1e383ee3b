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

// Executes the collectives of one rank of a group of processes on one host. A collective consists
// of phases. In each phase a rank works, publishes that it is done, and waits for all others:
//
//     announce | work | work | ... | work
//
// What is written in a phase is read by others in the next one, so a rank is never more than one
// phase ahead of another. After the last phase, ranks wait only if arenas were used in it: others
// may still read and write a rank's arena.
//
// If ranks share a core, the rank that runs there does the slices of those that wait for it, as far
// as they are in arenas. So each rank has to run only once per collective, not twice. A rank claims
// a slice before it begins it; for a large slice, whose units any rank takes, the claiming rank
// reports when it is done. A rank that finds its own slice claimed reads no announcements: the
// others may be at the next collective, in which they cannot continue without this rank.
//
// No rank leaves a collective before all are done with it, unless the group has failed. After a
// failure, the others may still write to slots and to outputs in arenas, which stay mapped as long
// as any rank may write there.
class SharedExecutor : public Executor {
 public:
  // `local`: this rank among the ranks of its host. All ranks must have opened each other's
  // segments, and use the same thresholds; the failure word must outlive the executor.
  SharedExecutor(std::shared_ptr<SharedMemory> memory, int rank, int size, const LocalRank& local, const FailureWord& failure,
                 const Thresholds& thresholds = {});

  Status execute(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice = kLongestTimeSlice) override;
  void abandon() override;

 private:
  // How data travels: in the announcements, directly between arenas, or at least in part through
  // slots.
  enum class Protocol { kEager, kDirect, kPipelined };
  // Limits after which work() returns to the caller, counted from the first work that takes long.
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
  RankMemory& memory_of(int rank) { return memories_[static_cast<std::size_t>(rank)]; }

  void begin(const Offer& offer);
  void announce(const Offer& offer);
  void publish();
  // The words of the ranks' announcements in this phase.
  const Words& words() const { return words_[phase_ & 1]; }
  void publish_for(int rank) { waiter_.publish(words(), rank, phase_); }
  bool await_all(std::chrono::microseconds patience);
  bool take_part(const Offer& offer);
  bool all_agree(const Offer& offer) const;
  bool take_up(const Offer& offer);
  bool take_up_memory(const Offer& offer, int rank);
  void take_up_own_memory(const Offer& offer);
  // The last phases are too short to pause for. Collectives of at most two phases without units
  // need no clock.
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
  const Words words_[2];  // by parity of the phase
  const Thresholds thresholds_;
  Waiter waiter_;
  std::uint32_t phase_ = 1;  // the phase that this rank works for, or waits for
  bool is_under_way_ = false;
  bool is_small_ = false;
  bool is_at_work_ = false;  // in the middle of a phase
  bool is_helped_ = false;   // another rank has claimed this one's slice
  std::vector<int> helped_;  // the ranks whose slices this one has done and must report as done
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
