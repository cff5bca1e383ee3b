#pragma once

#if defined(__linux__)

#include <cstddef>
#include <vector>

#include "../kernels/fold.h"
#include "../threads/execute.h"
#include "slot_blocks.h"
#include "rank_state.h"
#include "shared_memory.h"

namespace coll {

// The memory of a rank in a collective, at addresses of this process.
struct RankMemory {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  // Whether this memory is accessed through the rank's slots.
  bool has_private_input = false;
  bool has_private_output = false;
};

// The work of a rank on the blocks of a collective, if some memory is not in an arena. A block
// takes three phases:
//
//     fill:    input -> own slot
//     execute: slice of all slots -> its results, into all slots
//     collect: own slot -> output
//
// So a rank works on three blocks in each phase. Data written in a phase is read in the next
// one, and overwritten in the one after that. Results take the place of the inputs from which they
// are made: cache lines then carry data in both directions between cores.
class SlotWork {
 public:
  SlotWork(const SharedMemory& memory, int rank, const Thresholds& thresholds, Scratch& scratch)
      : memory_(memory), rank_(rank), ranks_(memory.size()), scratch_(scratch) {
    buffers_.streamed_bytes = thresholds.streamed_bytes;
  }

  // Fills the block before anything is known about other ranks.
  void fill(const Offer& offer, const SlotBlocks& blocks, std::size_t block, std::uint32_t phase);
  // Begins with the announcements of all ranks. `ranks` describes their memory.
  void begin(const Offer& offer, const SlotBlocks& blocks, std::vector<RankMemory>& ranks);
  // The number of phases of a block, after the one in which it was filled.
  std::size_t phases_of_block() const { return collects_ ? 2 : 1; }
  void execute(std::size_t block, std::uint32_t phase);
  void collect(std::size_t block, std::uint32_t phase);

 private:
  // Whether each rank writes only its own outputs.
  bool is_alone() const { return program_->moves() || program_->kind == Kind::kReduceScatter; }
  void execute_range(std::size_t block, int strip, const Range& range, std::uint32_t phase);
  void point_to_slots(std::size_t block, int strip, const Range& range, std::uint32_t phase);
  void point_to_results(std::size_t block, const Range& range, std::uint32_t phase);
  std::byte* input_slot(int rank, std::uint32_t phase) const;
  std::byte* result_slot(int rank, std::uint32_t phase) const;

  const SharedMemory& memory_;
  const int rank_;
  const int ranks_;
  Scratch& scratch_;
  const Offer* offer_ = nullptr;
  const Program* program_ = nullptr;
  const SlotBlocks* blocks_ = nullptr;
  std::vector<RankMemory>* memories_ = nullptr;
  GroupBuffers buffers_;
  bool collects_ = false;
  Write collected_ = Write::kCached;
};

}  // namespace coll

#endif
