#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../threads/board.h"

namespace coll {

// The most pieces of a rank's input or output that can be announced; memory in more pieces goes
// through slots.
constexpr std::size_t kMostPieces = 1024;

// What a rank announces when it arrives at a phase: small inputs themselves, otherwise their
// offsets in the rank's arena.
struct alignas(kCacheLinePair) SharedAnnouncement {
  std::atomic<std::uint32_t> phase;
  std::uint32_t private_memory;  // bits of PrivateMemory
  std::uint64_t fingerprint;
  std::byte tiny[kTinyBytes];  // or the offsets of an input and an output in one piece
  // In a pair of lines of its own, apart from the line that other ranks poll all the time.
  union alignas(kCacheLinePair) {
    std::byte small[tuning::kMostSmallBytes];
    std::uint64_t inputs[kMostPieces];
  };
  std::uint64_t outputs[kMostPieces];

  std::byte* payload(std::size_t bytes) { return bytes <= kTinyBytes ? tiny : small; }
  std::uint64_t* input_offsets(std::size_t pieces) { return pieces == 1 ? reinterpret_cast<std::uint64_t*>(tiny) : inputs; }
  std::uint64_t* output_offsets(std::size_t pieces) { return pieces == 1 ? reinterpret_cast<std::uint64_t*>(tiny) + 1 : outputs; }
};

// Which memory of a rank the others cannot reach.
enum PrivateMemory : std::uint32_t { kPrivateInput = 1, kPrivateOutput = 2 };

// What one rank publishes, in zeroed memory. Only that rank writes here, except for `taken`,
// `open_slice` and the gate, and for the phase after that of a slice which another rank has done.
struct SharedRankState {
  SharedAnnouncement announcements[2];
  // The number of units of this rank's slice that any rank has taken, for phases of even and of odd
  // number.
  alignas(kCacheLinePair) std::atomic<std::size_t> taken[2];
  // If no rank has begun this rank's slice: `open_slice_of` its phase; otherwise 0.
  alignas(kCacheLinePair) std::atomic<std::uint64_t> open_slice;
  alignas(kCacheLinePair) std::atomic<int> core;
  // Of the gate where the ranks sleep. Only those of rank 0 are used.
  alignas(kCacheLinePair) std::atomic<std::uint32_t> openings;
  std::atomic<std::uint32_t> sleepers;
};

constexpr std::uint64_t open_slice_of(std::uint32_t phase) { return (std::uint64_t{1} << 32) + phase; }

// A slot for inputs and one for results, each for phases of even and of odd number.
constexpr std::size_t kSlotBytes = std::size_t{256} << 10;
constexpr std::size_t kSlotsBytes = 4 * kSlotBytes;

}  // namespace coll
