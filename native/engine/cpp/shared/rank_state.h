#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../threads/board.h"

namespace coll {

// The most pieces of a rank's input or output that can be announced; memory in more pieces goes
// through slots.
constexpr std::size_t kMostPieces = 1024;

// The announcement of a rank that arrives at a phase: small inputs themselves, otherwise the
// offsets of its memory in its arena.
struct alignas(kCacheLinePair) SharedAnnouncement {
  std::atomic<std::uint32_t> phase;
  std::uint32_t private_memory;  // bits of PrivateMemory
  std::uint64_t fingerprint;
  std::byte tiny[kTinyBytes];  // or the offsets of an input and an output in one piece
  // Lies in a pair of cache lines of its own, apart from the line that other ranks poll all the
  // time.
  union alignas(kCacheLinePair) {
    std::byte small[tuning::kMostSmallBytes];
    std::uint64_t inputs[kMostPieces];
  };
  std::uint64_t outputs[kMostPieces];

  std::byte* payload(std::size_t bytes) { return bytes <= kTinyBytes ? tiny : small; }
  std::uint64_t* input_offsets(std::size_t pieces) { return pieces == 1 ? reinterpret_cast<std::uint64_t*>(tiny) : inputs; }
  std::uint64_t* output_offsets(std::size_t pieces) { return pieces == 1 ? reinterpret_cast<std::uint64_t*>(tiny) + 1 : outputs; }
};

// Bits for the memory of a rank that the other ranks cannot access.
enum PrivateMemory : std::uint32_t { kPrivateInput = 1, kPrivateOutput = 2 };

// The state that one rank publishes, in memory that begins as zeros. Only that rank writes here,
// with these exceptions: `taken`, `open_slice`, the gate, and the end of a slice that another rank
// has executed.
struct SharedRankState {
  SharedAnnouncement announcements[2];
  // The number of units of this rank's slice that were taken by any rank, for even and odd phases.
  alignas(kCacheLinePair) std::atomic<std::size_t> taken[2];
  // `open_slice_of` the phase, as long as no rank has begun this rank's slice; otherwise 0.
  alignas(kCacheLinePair) std::atomic<std::uint64_t> open_slice;
  alignas(kCacheLinePair) std::atomic<int> core;
  // Words of the gate at which ranks sleep. Only those of rank 0 are used.
  alignas(kCacheLinePair) std::atomic<std::uint32_t> openings;
  std::atomic<std::uint32_t> sleepers;
};

constexpr std::uint64_t open_slice_of(std::uint32_t phase) { return (std::uint64_t{1} << 32) + phase; }

// The size of a slot. A rank has one slot for inputs and one for results, each for even and odd
// phases.
constexpr std::size_t kSlotBytes = std::size_t{256} << 10;
constexpr std::size_t kSlotsBytes = 4 * kSlotBytes;

}  // namespace coll
