#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "offer.h"

namespace coll {

// All ranks' inputs together. Such a slice takes about a millisecond: so long an event loop may be kept waiting.
constexpr std::size_t kSliceBytes = std::size_t{32} << 20;
// For those who can leave a slice between its units.
constexpr std::size_t kOneSlice = SIZE_MAX / 2;

// How a collective is divided: into slices, one after the other, each into a share for each rank, and large shares into units, which ranks
// that are done with their own take from others. Nothing is divided within a cache line of outputs, so that no two ranks write one.
class Shares {
 public:
  explicit Shares(const Offer& offer, std::size_t slice_bytes = kSliceBytes);

  std::size_t slices() const { return slices_; }
  Range share(std::size_t slice, int rank) const;
  // Whether ranks take units from each other.
  bool has_units() const { return is_large_; }
  // Whether a program that writes a buffer finds only its end in the cache of its core, so that it matters from which end a share is gone through.
  bool exceed_cache() const { return !is_large_ && exceeds_cache_; }
  std::size_t units(const Range& share) const;
  Range unit(const Range& share, std::size_t index) const;

  // What a rank does of a slice: its own share first, then what ranks have not begun that were put aside by the system, or sent to a
  // busy core. `taken` counts the units that are taken of a rank's share. A share that others take nothing of can be gone through from
  // its end. False where `goes_on` said after a unit that the rest has to wait, to be asked for in the same way.
  template <class Taken, class Visit, class GoesOn>
  bool for_each_range(std::size_t slice, int rank, bool from_end, Taken taken, Visit visit, GoesOn goes_on) const {
    if (!is_large_) {
      const Range whole = share(slice, rank);
      if (!from_end) visit(whole);
      for (std::size_t index = from_end ? units(whole) : 0; index > 0; --index) visit(unit(whole, index - 1));
      return true;
    }
    const int ranks = static_cast<int>(ranks_);
    for (int i = 0; i < ranks; ++i) {
      const int owner = (rank + i) % ranks;
      const Range whole = share(slice, owner);
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
  void for_each_range(std::size_t slice, int rank, bool from_end, Taken taken, Visit visit) const {
    for_each_range(slice, rank, from_end, taken, visit, [] { return true; });
  }

 private:
  std::size_t length_;
  std::size_t ranks_;
  std::size_t line_;
  std::size_t slice_;
  std::size_t slices_;
  std::size_t unit_;
  bool is_large_;
  bool exceeds_cache_;
};

}  // namespace coll
