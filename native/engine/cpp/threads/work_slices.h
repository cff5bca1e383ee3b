#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../tuning.h"
#include "offer.h"

namespace coll {

// The value of `batch_bytes` for a single batch, for callers that can pause between its units.
constexpr std::size_t kOneBatch = SIZE_MAX / 2;

// How a collective is divided: into batches, one after the other; each batch into one slice per
// rank; large slices into units, which ranks that have finished their own slice take from others.
// Boundaries are at cache lines of the outputs, so that no two ranks write the same line.
class WorkSlices {
 public:
  explicit WorkSlices(const Offer& offer, std::size_t batch_bytes = tuning::kBatchBytes);

  std::size_t batches() const { return batches_; }
  Range slice(std::size_t batch, int rank) const;
  // Whether ranks take units from each other.
  bool has_units() const { return is_large_; }
  // Whether a program that has written a buffer finds only its end in the cache of its core, so
  // that the direction of a slice matters.
  bool exceed_cache() const { return !is_large_ && exceeds_cache_; }
  std::size_t units(const Range& slice) const;
  Range unit(const Range& slice, std::size_t index) const;

  // Visits the ranges of a batch that a rank executes: its own slice first, then units of other
  // slices that no rank has taken yet, for example because the system suspended their rank.
  // `taken`: returns the counter of the units taken of a rank's slice.
  // `from_end`: visits the rank's own slice from its end, unless other ranks take units of it.
  // Returns false if `goes_on` has returned false after a unit. The same call then visits the rest.
  template <class Taken, class Visit, class GoesOn>
  bool for_each_range(std::size_t batch, int rank, bool from_end, Taken taken, Visit visit, GoesOn goes_on) const {
    if (!is_large_) {
      const Range whole = slice(batch, rank);
      if (!from_end) visit(whole);
      for (std::size_t index = from_end ? units(whole) : 0; index > 0; --index) visit(unit(whole, index - 1));
      return true;
    }
    const int ranks = static_cast<int>(ranks_);
    for (int i = 0; i < ranks; ++i) {
      const int owner = (rank + i) % ranks;
      const Range whole = slice(batch, owner);
      const std::size_t count = units(whole);
      std::atomic<std::size_t>& next = taken(owner);
      for (std::size_t index = 0; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
        visit(unit(whole, index));
        if (!goes_on()) return false;
      }
    }
    return true;
  }
  template <class Taken, class Visit>
  void for_each_range(std::size_t batch, int rank, bool from_end, Taken taken, Visit visit) const {
    for_each_range(batch, rank, from_end, taken, visit, [] { return true; });
  }

 private:
  std::size_t length_;
  std::size_t ranks_;
  std::size_t line_;
  std::size_t batch_;
  std::size_t batches_;
  std::size_t unit_;
  bool is_large_;
  bool exceeds_cache_;
};

}  // namespace coll
