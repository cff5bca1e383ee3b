#pragma once

#include <cstddef>

#include "../threads/work_slices.h"

namespace coll {

// How a collective goes through slots: block by block, each of one strip of the whole buffer, or of one from each of its blocks where there
// are such. Values that only move each rank takes from everyone's slots. Others it works out in part, for all ranks: its own strip in a
// reduce-scatter, otherwise its slice.
class SlotBlocks {
 public:
  explicit SlotBlocks(const Offer& offer);

  std::size_t count() const { return count_; }
  int strips() const { return strips_; }
  Range strip(std::size_t block, int index) const;
  // Whether a strip is in this rank's input and other ranks need it.
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
