#pragma once

#include <cstddef>

#include "tuning.h"

namespace coll {

// The sizes at which collectives change their method. All ranks of a group use the same ones. They
// change only the time of a collective, not its bits. A calibration (calibration.h) measures
// small_bytes; the value here is for machines that were not measured.
struct Thresholds {
  // Inputs up to this size travel with announcements, up to tuning::kMostSmallBytes. Larger inputs
  // are faster if they are processed in place, though that takes both halves of a meeting.
  std::size_t small_bytes = 1 * tuning::kKiB;
  // The size of a block of a collective that goes through slots, at most kSlotBytes. The blocks of
  // all stages of the pipeline stay in a second-level cache.
  std::size_t block_bytes = 256 * tuning::kKiB;
  // Results of at least this size are written past the caches, because they would not stay in one
  // until they are read.
  std::size_t streamed_bytes = 8 * tuning::kMiB;
  // The size of all ranks' inputs from which helpers take part in a task. For less work, a helper
  // would start too late, or the caller's core would have to fetch results from another core.
  std::size_t helped_bytes = 128 * tuning::kKiB;
  // The size of all ranks' inputs from which a task wakes a sleeping helper. Waking takes thirty
  // microseconds, and the caches of the caller's core then have only a part of the result: 2 MiB
  // took 77 microseconds alone, but 122 with a helper that slept.
  std::size_t waking_bytes = 4 * tuning::kMiB;

  // The limit for the small inputs of all ranks together: each rank executes the whole collective
  // by itself, which is slow with many ranks.
  std::size_t small_bytes_of_all() const { return 8 * small_bytes; }
  // The limit for the blocks of all ranks together, if all ranks fill and collect blocks and some
  // share a cache.
  std::size_t block_bytes_of_all() const { return 2 * block_bytes; }
  // The least size of a block: smaller blocks save less than their phases cost.
  std::size_t least_block_bytes() const { return block_bytes / 4; }
};

}  // namespace coll
