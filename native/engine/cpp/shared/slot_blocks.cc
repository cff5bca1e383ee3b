#include "slot_blocks.h"

#include <algorithm>

#include "../tuning.h"
#include "rank_state.h"

namespace coll {
namespace {

static_assert(Thresholds().block_bytes <= kSlotBytes);

std::size_t block_bytes(const Program& program, std::size_t bytes_of_all, const Thresholds& thresholds) {
  if (program.has_blocks() || program.moves() || bytes_of_all < tuning::kCachedBytes) return thresholds.block_bytes;
  const std::size_t ranks = static_cast<std::size_t>(program.ranks);
  return std::clamp(thresholds.block_bytes_of_all() / ranks, thresholds.least_block_bytes(), thresholds.block_bytes);
}

}  // namespace

SlotBlocks::SlotBlocks(const Offer& offer, const Thresholds& thresholds)
    : kind_(offer.program->kind), ranks_(static_cast<std::size_t>(offer.program->ranks)), length_(offer.length),
      strips_(static_cast<int>(offer.program->block_count())) {
  const Program& program = *offer.program;
  const std::size_t input = byte_size(program.dtype);
  const std::size_t output = byte_size(result_of(program.dtype, program.op));
  line_ = kCacheLine / std::min(input, output);
  const std::size_t strips_in_slot = program.has_block_out() ? ranks_ : 1;
  const std::size_t size = std::max(input, output);
  size_ = std::max(block_bytes(program, length_ * size * ranks_, thresholds) / size / strips_in_slot / line_ * line_, line_);
  const std::size_t length_of_strips = length_ / static_cast<std::size_t>(strips_);
  count_ = std::max((length_of_strips + size_ - 1) / size_, std::size_t{1});
}

Range SlotBlocks::strip(std::size_t block, int index) const {
  const std::size_t whole = length_ / static_cast<std::size_t>(strips_);
  const std::size_t begin = std::min(block * size_, whole);
  const std::size_t first = whole * static_cast<std::size_t>(index);
  return {first + begin, first + std::min(begin + size_, whole)};
}

bool SlotBlocks::is_offered(int index, int rank) const {
  const int ranks = static_cast<int>(ranks_);
  switch (kind_) {
    case Kind::kAllGather:
    case Kind::kGather: return index == rank;
    case Kind::kReduceScatter:
    case Kind::kScatter: return index != rank;
    case Kind::kAllToAll: return index / ranks == rank && index % ranks != rank;
    default: return true;
  }
}

std::size_t SlotBlocks::offset(int index) const {
  if (kind_ == Kind::kAllGather || kind_ == Kind::kGather) return 0;
  const auto strip = static_cast<std::size_t>(index);
  return (kind_ == Kind::kAllToAll ? strip % ranks_ : strip) * size_;
}

Range SlotBlocks::slice(std::size_t block, int rank) const {
  const Range all = strip(block, 0);
  const std::size_t lines = (all.end - all.begin + line_ - 1) / line_;
  const std::size_t slice = (lines + ranks_ - 1) / ranks_ * line_;
  const std::size_t begin = std::min(all.begin + slice * static_cast<std::size_t>(rank), all.end);
  return {begin, std::min(begin + slice, all.end)};
}

}  // namespace coll
