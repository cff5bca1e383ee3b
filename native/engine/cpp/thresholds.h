#pragma once

#include <cstddef>

#include "tuning.h"

namespace coll {

// The sizes from which collectives work in another way. All ranks of a group use the same ones.
// They change only how long a collective takes, not its bits. A calibration measures small_bytes
// (calibration.h), whose value here is that of machines that were not measured.
struct Thresholds {
  // Inputs up to this size travel with announcements, up to tuning::kMostSmallBytes. Larger inputs
  // are faster if they are processed in place, though that takes both halves of a meeting.
  std::size_t small_bytes = 1 * tuning::kKiB;
  // A block of a collective that goes through slots, up to kSlotBytes. Blocks of all stages of the
  // pipeline stay in a second-level cache.
  std::size_t block_bytes = 256 * tuning::kKiB;
  // Results from this size on are not found in a cache later, and are written past the caches.
  std::size_t streamed_bytes = 8 * tuning::kMiB;
  // The inputs of all ranks in a task in which helpers take part. For less work, a helper would
  // start too late, or the caller's core would have to fetch its results from another core.
  std::size_t helped_bytes = 128 * tuning::kKiB;
  // The inputs of all ranks in a task for which it wakes a sleeping helper. That takes thirty
  // microseconds, and caches of the caller's core then have only a part of the result: 2 MiB took
  // 77 microseconds alone, but 122 with a helper that slept.
  std::size_t waking_bytes = 4 * tuning::kMiB;

  // For the inputs of all ranks together. Each rank executes the whole collective by itself, which
  // does not pay with many ranks.
  std::size_t small_bytes_of_all() const { return 8 * small_bytes; }
  // The blocks of all ranks together, if all ranks fill and collect blocks and some share a cache.
  std::size_t block_bytes_of_all() const { return 2 * block_bytes; }
  // Smaller blocks are not worth their phases.
  std::size_t least_block_bytes() const { return block_bytes / 4; }
};

}  // namespace coll
