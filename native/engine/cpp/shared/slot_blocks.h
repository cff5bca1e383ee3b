#pragma once

#include <cstddef>

#include "../thresholds.h"
#include "../threads/work_slices.h"

namespace coll {

// How a collective goes through slots: block by block. A block has one strip of the whole buffer
// or, if the buffer consists of one block per rank, a strip of each of these. If values are only
// moved, each rank copies them from the slots of the others. Otherwise each rank combines a part
// for all ranks: its own strip in a reduce-scatter, else its slice.
class SlotBlocks {
 public:
  explicit SlotBlocks(const Offer& offer, const Thresholds& thresholds = {});

  std::size_t count() const { return count_; }
  int strips() const { return strips_; }
  Range strip(std::size_t block, int index) const;
  // Whether a strip is part of this rank's input and is needed by other ranks.
  bool is_offered(int index, int rank) const;
  // The element at which a strip begins in the slot of a rank that offers it.
  std::size_t offset(int index) const;
  Range slice(std::size_t block, int rank) const;

 private:
  const Kind kind_;
  const std::size_t ranks_;
  const std::size_t length_;
  const int strips_;
  std::size_t line_;
  std::size_t size_;  // elements per strip
  std::size_t count_;
};

}  // namespace coll
