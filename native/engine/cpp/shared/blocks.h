#pragma once

#include <cstddef>

#include "../threads/shares.h"

namespace coll {

// How a collective goes through slots: block by block, each of one strip of the whole buffer, or of one from every rank's block where there
// are such. Values that only move each rank takes from everyone's slots. Others it works out in part, for all ranks: its own strip in a
// reduce-scatter, otherwise its share.
class Blocks {
 public:
  explicit Blocks(const Offer& offer);

  std::size_t count() const { return count_; }
  int strips() const { return strips_; }
  Range strip(std::size_t block, int index) const;
  // Where in a rank's slot a strip of its input begins, as elements.
  std::size_t place(int index) const { return kind_ == Kind::kAllGather ? 0 : static_cast<std::size_t>(index) * size_; }
  Range share(std::size_t block, int rank) const;

 private:
  const Kind kind_;
  const std::size_t ranks_;
  const std::size_t length_;
  int strips_;
  std::size_t line_;
  std::size_t size_;  // elements of a strip
  std::size_t count_;
};

}  // namespace coll
