#include "offer.h"

#include <algorithm>
#include <cstring>

namespace coll {
namespace {

struct Extent {
  const std::byte* begin;
  const std::byte* end;
  int rank;
  std::size_t piece;
  bool is_output;

  // Input and output of the same piece may overlap: a rank may work in place.
  bool has_owner_of(const Extent& other) const { return rank == other.rank && piece == other.piece; }
};

template <class Pointer>
void add_extents(std::vector<Extent>& extents, const std::vector<Pointer>& pieces, const Offer& offer, std::size_t bytes, Extent kind) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t length = offer.bytes_of_piece(i, bytes);
    if (length > 0) extents.push_back({pieces[i], pieces[i] + length, kind.rank, i, kind.is_output});
  }
}

std::vector<Extent> extents_of(const Offer* const* offers, int ranks) {
  const bool is_shared = is_one_result(offers, ranks);
  std::vector<Extent> extents;
  for (int rank = 0; rank < ranks; ++rank) {
    const Offer& offer = *offers[rank];
    add_extents(extents, offer.buffers.inputs, offer, offer.input_bytes(), {nullptr, nullptr, rank, 0, false});
    // An output that all ranks share is added once, so that it does not clash with itself.
    if (is_shared && rank > 0) continue;
    add_extents(extents, offer.buffers.outputs, offer, offer.output_bytes(), {nullptr, nullptr, rank, 0, true});
  }
  return extents;
}

// The extent that ends last among those added so far, and the one that ends last among those of
// other owners. If the next extent overlaps an earlier one of another owner, it overlaps one of
// these two.
class Furthest {
 public:
  void add(const Extent& next) {
    if (first_ != nullptr && first_->has_owner_of(next)) {
      if (first_->end < next.end) first_ = &next;
    } else if (first_ == nullptr || first_->end < next.end) {
      second_ = first_;
      first_ = &next;
    } else if (second_ == nullptr || second_->end < next.end) {
      second_ = &next;
    }
  }

  // An added extent of another owner that overlaps `next`; null if there is none.
  const Extent* overlapping(const Extent& next) const {
    for (const Extent* before : {first_, second_}) {
      if (before != nullptr && !before->has_owner_of(next) && before->end > next.begin) return before;
    }
    return nullptr;
  }

 private:
  const Extent* first_ = nullptr;
  const Extent* second_ = nullptr;
};

// The number of elements of a whole buffer, or of a rank's block. Avoids divisions: small
// collectives take no longer than a few of them.
std::size_t length_of(const Offer& offer, bool is_block) {
  return is_block ? offer.length / static_cast<std::size_t>(offer.program->ranks) : offer.length;
}

// The clash of two extents that overlap: first the rank whose output is concerned, then the rank
// whose memory it overlaps.
Clash clash_of(const Extent& a, const Extent& b) {
  if (a.is_output && b.is_output) return {std::min(a.rank, b.rank), std::max(a.rank, b.rank)};
  return a.is_output ? Clash{a.rank, b.rank} : Clash{b.rank, a.rank};
}

}  // namespace

std::size_t Offer::input_bytes() const {
  return length_of(*this, program->has_block_in()) * byte_size(program->dtype);
}

std::size_t Offer::output_bytes() const {
  return length_of(*this, program->has_block_out()) * byte_size(result_of(program->dtype, program->op));
}

const std::byte* Offer::input_at(std::size_t element) const {
  if (piece_count() > 1 || buffers.inputs.empty() || program->has_block_in()) return nullptr;
  return buffers.inputs[0] + element * byte_size(program->dtype);
}

std::size_t Offer::bytes_of_piece(std::size_t piece, std::size_t bytes) const {
  // A buffer in one piece may be only a block of the whole.
  if (piece_count() == 1 || length == 0) return bytes;
  return bytes / length * (begins[piece + 1] - begins[piece]);
}

std::uint64_t fingerprint_of(const double* numbers, std::size_t count) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &numbers[i], sizeof bits);
    // The finalizer of splitmix64 (Steele, Lea and Flood, 2014) over a running sum.
    hash += bits + 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  return hash;
}

bool is_one_result(const Offer* const* offers, int ranks) {
  if (!offers[0]->program->has_one_result()) return false;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!offers[rank]->shares_result || offers[rank]->buffers.outputs != offers[0]->buffers.outputs) return false;
  }
  return true;
}

Clash find_clash(const Offer* const* offers, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) {
    if (offers[rank]->begins != offers[0]->begins) return {0, rank, true};
  }
  std::vector<Extent> extents = extents_of(offers, ranks);
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  Furthest inputs;
  Furthest outputs;
  for (const Extent& next : extents) {
    const Extent* before = outputs.overlapping(next);
    if (before == nullptr && next.is_output) before = inputs.overlapping(next);
    if (before != nullptr) return clash_of(*before, next);
    (next.is_output ? outputs : inputs).add(next);
  }
  return {};
}

}  // namespace coll
