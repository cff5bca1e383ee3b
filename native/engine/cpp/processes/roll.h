#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace coll {

// A set of ranks: those that are known to have done something. Members exchange and merge their
// rolls, so that each of them learns of all ranks.
class Roll {
 public:
  explicit Roll(std::size_t size) : has_(size, false) {}

  bool has(std::size_t rank) const { return has_[rank]; }
  bool is_complete() const { return std::find(has_.begin(), has_.end(), false) == has_.end(); }
  // Whether the roll contains the `count` ranks up to `last`. Ranks are counted around, from rank 0
  // back to the highest rank.
  bool has_before(std::size_t last, std::size_t count) const {
    for (std::size_t i = 0; i < std::min(count, has_.size()); ++i) {
      if (!has_[(last + has_.size() - i) % has_.size()]) return false;
    }
    return true;
  }

  void add(std::size_t rank) {
    has_changed_ = has_changed_ || !has_[rank];
    has_[rank] = true;
  }
  // Adds the ranks whose bits are set. Ignores those of other groups.
  void merge(const std::string& bits) {
    for (std::size_t rank = 0; rank < std::min(has_.size(), bits.size() * 8); ++rank) {
      if ((static_cast<unsigned char>(bits[rank / 8]) >> (rank % 8) & 1) != 0) add(rank);
    }
  }
  std::string bits() const {
    std::string bits((has_.size() + 7) / 8, '\0');
    for (std::size_t rank = 0; rank < has_.size(); ++rank) {
      if (has_[rank]) bits[rank / 8] = static_cast<char>(bits[rank / 8] | 1 << (rank % 8));
    }
    return bits;
  }
  bool has_changed() const { return has_changed_; }
  // Whether ranks were added since the last call.
  bool take_change() { return std::exchange(has_changed_, false); }

 private:
  std::vector<bool> has_;
  bool has_changed_ = false;
};

}  // namespace coll
