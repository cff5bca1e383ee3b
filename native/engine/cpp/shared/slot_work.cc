#include "slot_work.h"

#if defined(__linux__)

#include <algorithm>
#include <cstring>

#include "../tuning.h"

namespace coll {
namespace {

// Calls `visit` for the part of every piece that is in the range.
template <class Visit>
void for_each_piece(const std::vector<std::size_t>& begins, const Range& range, Visit visit) {
  if (range.begin >= range.end) return;
  auto piece = static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), range.begin) - begins.begin()) - 1;
  for (; piece + 1 < begins.size() && begins[piece] < range.end; ++piece) {
    const Range part{std::max(range.begin, begins[piece]), std::min(range.end, begins[piece + 1])};
    if (part.begin < part.end) visit(piece, part);
  }
}

// Computes the address of element `to` from that of element `from`.
template <class Byte>
Byte* address_of(Byte* address, std::size_t from, std::size_t to, std::size_t size) {
  return address + (static_cast<std::ptrdiff_t>(to) - static_cast<std::ptrdiff_t>(from)) * static_cast<std::ptrdiff_t>(size);
}

std::size_t input_size(const Program& program) { return byte_size(program.dtype); }
std::size_t output_size(const Program& program) { return byte_size(result_of(program.dtype, program.op)); }

// The element at which a piece of a rank's input begins.
std::size_t input_begin(const Offer& offer, int rank, std::size_t piece) {
  if (!offer.program->has_block_in()) return offer.begins[piece];
  return offer.length / static_cast<std::size_t>(offer.program->ranks) * static_cast<std::size_t>(rank);
}

// Whether this processor copies uncached memory faster by kCopyStreams streams. AMD's Zen 5 copies
// it 1.3 to 1.5 times as fast from front to back.
bool may_copy_in_streams() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

// Whether the offer's memory is copied in streams.
bool copies_in_streams(const Offer& offer) {
  static const bool may_be = may_copy_in_streams();
  const std::size_t size = std::max(input_size(*offer.program), output_size(*offer.program));
  return may_be && offer.length * size * static_cast<std::size_t>(offer.program->ranks) >= tuning::kUncachedBytes;
}

// Copies from or to uncached memory: see tuning::kCopyStreams.
void copy_in_streams(std::byte* into, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kStreams = tuning::kCopyStreams;
  constexpr std::size_t kStep = tuning::kCopyStep;
  const std::size_t part = bytes / kStreams / kStep * kStep;
  for (std::size_t at = 0; at < part; at += kStep) {
    for (std::size_t begin = at; begin < kStreams * part; begin += part) std::memcpy(into + begin, from + begin, kStep);
  }
  std::memcpy(into + kStreams * part, from + kStreams * part, bytes - kStreams * part);
}

// Copies between a rank's own memory and its slot.
void carry(std::byte* into, const std::byte* from, std::size_t bytes, Write write, bool in_streams) {
  if (in_streams && write == Write::kCached) copy_in_streams(into, from, bytes);
  else copy(into, from, bytes, write);
}

bool is_in_place(const Buffers& buffers) {
  for (std::size_t i = 0; i < buffers.inputs.size() && i < buffers.outputs.size(); ++i) {
    if (buffers.inputs[i] == buffers.outputs[i]) return true;
  }
  return false;
}

}  // namespace

std::byte* SlotWork::input_slot(int rank, std::uint32_t phase) const { return memory_.slots(rank) + (phase & 1) * kSlotBytes; }

std::byte* SlotWork::result_slot(int rank, std::uint32_t phase) const {
  const bool fits_input = output_size(*program_) == input_size(*program_);
  return input_slot(rank, phase) + (fits_input ? 0 : 2 * kSlotBytes);
}

void SlotWork::fill(const Offer& offer, const SlotBlocks& blocks, std::size_t block, std::uint32_t phase) {
  const Program& program = *offer.program;
  if (ranks_ == 1 || !program.reads(rank_)) return;
  const std::size_t size = input_size(program);
  const bool in_streams = copies_in_streams(offer);
  const auto copy_in = [&](const Range& range, std::size_t offset) {
    for_each_piece(offer.begins, range, [&](std::size_t piece, const Range& part) {
      const std::byte* const from = address_of(offer.buffers.inputs[piece], input_begin(offer, rank_, piece), part.begin, size);
      std::byte* const into = input_slot(rank_, phase) + (offset + part.begin - range.begin) * size;
      carry(into, from, (part.end - part.begin) * size, Write::kCached, in_streams);
    });
  };
  for (int index = 0; index < blocks.strips(); ++index) {
    if (!blocks.is_offered(index, rank_)) continue;
    const Range strip = blocks.strip(block, index);
    if (program.has_blocks() || program.moves()) {
      copy_in(strip, blocks.offset(index));
      continue;
    }
    // No other rank reads what this rank combines.
    const Range slice = blocks.slice(block, rank_);
    copy_in({strip.begin, slice.begin}, 0);
    copy_in({slice.end, strip.end}, slice.end - strip.begin);
  }
}

void SlotWork::begin(const Offer& offer, const SlotBlocks& blocks, std::vector<RankMemory>& ranks) {
  offer_ = &offer;
  program_ = offer.program.get();
  blocks_ = &blocks;
  memories_ = &ranks;
  bool is_any_output_private = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    RankMemory& memory = ranks[static_cast<std::size_t>(rank)];
    is_any_output_private = is_any_output_private || memory.has_private_output;
    if (rank == rank_) continue;
    if (memory.has_private_input) memory.inputs.assign(offer.piece_count(), nullptr);
    if (memory.has_private_output) memory.outputs.assign(offer.piece_count(), nullptr);
  }
  collects_ = !is_alone() && is_any_output_private;
  const bool is_large = offer.length * output_size(*program_) >= buffers_.streamed_bytes;
  collected_ = is_large && !is_in_place(offer.buffers) ? Write::kStreamed : Write::kCached;
  buffers_.ranks.resize(static_cast<std::size_t>(ranks_));
  buffers_.begins = offer.begins.data();
  buffers_.piece_count = offer.piece_count();
  // Results that go to slots are not streamed, because slots stay in the cache.
  buffers_.may_stream = !collects_;
}

void SlotWork::execute(std::size_t block, std::uint32_t phase) {
  if (program_->has_block_out()) {
    // For an all-to-all: one strip from each rank.
    for (int index = rank_; index < blocks_->strips(); index += ranks_) execute_range(block, index, blocks_->strip(block, index), phase);
    return;
  }
  if (!program_->moves()) return execute_range(block, 0, blocks_->slice(block, rank_), phase);
  if (!program_->writes(rank_)) return;
  for (int index = 0; index < blocks_->strips(); ++index) execute_range(block, index, blocks_->strip(block, index), phase);
}

void SlotWork::execute_range(std::size_t block, int strip, const Range& range, std::uint32_t phase) {
  if (range.begin >= range.end) return;
  point_to_slots(block, strip, range, phase - 1);
  if (collects_) point_to_results(block, range, phase - 1);
  for (int rank = 0; rank < ranks_; ++rank) {
    RankMemory& memory = (*memories_)[static_cast<std::size_t>(rank)];
    const bool is_written = program_->writes(rank) && (rank == rank_ || !is_alone());
    buffers_.ranks[static_cast<std::size_t>(rank)] = {memory.inputs.data(), is_written ? memory.outputs.data() : nullptr};
  }
  coll::execute(*program_, buffers_, range.begin, range.end, scratch_);
}

void SlotWork::point_to_slots(std::size_t block, int strip, const Range& range, std::uint32_t phase) {
  const std::size_t first = blocks_->strip(block, strip).begin;
  const std::size_t size = input_size(*program_);
  for (int rank = 0; rank < ranks_; ++rank) {
    RankMemory& memory = (*memories_)[static_cast<std::size_t>(rank)];
    if (rank == rank_ || !memory.has_private_input) continue;
    const std::byte* const slot = input_slot(rank, phase) + blocks_->offset(strip) * size;
    for_each_piece(offer_->begins, range, [&](std::size_t piece, const Range&) {
      memory.inputs[piece] = address_of(slot, first, input_begin(*offer_, rank, piece), size);
    });
  }
}

void SlotWork::point_to_results(std::size_t block, const Range& range, std::uint32_t phase) {
  const std::size_t first = blocks_->strip(block, 0).begin;
  const std::size_t size = output_size(*program_);
  for (int rank = 0; rank < ranks_; ++rank) {
    RankMemory& memory = (*memories_)[static_cast<std::size_t>(rank)];
    if (rank == rank_ || !memory.has_private_output) continue;
    std::byte* const slot = result_slot(rank, phase);
    for_each_piece(offer_->begins, range, [&](std::size_t piece, const Range&) {
      memory.outputs[piece] = address_of(slot, first, offer_->begins[piece], size);
    });
  }
}

void SlotWork::collect(std::size_t block, std::uint32_t phase) {
  const RankMemory& own = (*memories_)[static_cast<std::size_t>(rank_)];
  if (!own.has_private_output) return;
  const std::size_t size = output_size(*program_);
  const Range all = blocks_->strip(block, 0);
  const Range slice = blocks_->slice(block, rank_);
  const bool in_streams = copies_in_streams(*offer_);
  const auto copy_out = [&](const Range& range) {
    for_each_piece(offer_->begins, range, [&](std::size_t piece, const Range& part) {
      std::byte* const into = address_of(own.outputs[piece], offer_->begins[piece], part.begin, size);
      const std::byte* const from = result_slot(rank_, phase) + (part.begin - all.begin) * size;
      carry(into, from, (part.end - part.begin) * size, collected_, in_streams);
    });
  };
  copy_out({all.begin, slice.begin});
  copy_out({slice.end, all.end});
}

}  // namespace coll

#endif
