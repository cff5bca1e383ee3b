#pragma once

#include <cstddef>

#include "offer.h"

namespace coll {

struct Range {
  std::size_t begin;
  std::size_t end;
};

// How a collective is divided: into slices, one after the other, each into a share for each rank, and large shares into units, which ranks
// that are done with their own take from others. Nothing is divided within a cache line of outputs, so that no two ranks write one.
class Shares {
 public:
  explicit Shares(const Offer& offer);

  std::size_t slices() const { return slices_; }
  Range share(std::size_t slice, int rank) const;
  // Whether ranks take units from each other.
  bool has_units() const { return is_large_; }
  std::size_t units(const Range& share) const;
  Range unit(const Range& share, std::size_t index) const;

 private:
  std::size_t length_;
  std::size_t ranks_;
  std::size_t line_;
  std::size_t slice_;
  std::size_t slices_;
  std::size_t unit_;
  bool is_large_;
};

}  // namespace coll
