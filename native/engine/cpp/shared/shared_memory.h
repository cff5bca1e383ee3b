#pragma once

#if defined(__linux__)

#include <cstddef>
#include <memory>
#include <vector>

#include "../threads/board.h"
#include "arena.h"
#include "segment.h"

namespace coll {

// The memory of ranks that are processes of one host, as one of them sees it: a segment each, with
//
//     head | state | slots | arena
//
// A rank writes to its own state and slots only, and to what ranks have in their arenas where a collective's result belongs there.
class SharedMemory {
 public:
  // All ranks' segments by rank; the own one was created here, the others opened.
  SharedMemory(int rank, std::vector<std::shared_ptr<Segment>> segments);

  // A tensor's memory, which all ranks can work on where it is: zeros, at the begin of a cache line. Throws Error where there is no
  // room. Any thread may call these; memory is given back only when no collective uses it.
  std::byte* allocate(std::size_t bytes) { return arena_.allocate(bytes); }
  // The same, with whatever lies there.
  std::byte* allocate_unset(std::size_t bytes) { return arena_.allocate_unset(bytes); }
  void free(std::byte* memory) { arena_.free(memory); }
  // Whether memory lies in this rank's arena.
  bool has(const void* address, std::size_t bytes) const;

  // Whether all pieces of an offer's input or output, which has `bytes` in all, lie there.
  template <class Byte>
  bool has(const std::vector<Byte*>& pieces, const Offer& offer, std::size_t bytes) const {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (!has(pieces[i], offer.bytes_of_piece(i, bytes))) return false;
    }
    return true;
  }

  // Of a segment, what is no arena.
  static std::size_t fixed_bytes();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(segments_.size()); }
  // Where memory of this rank's arena is for others.
  std::size_t offset_of(const void* address) const;
  // Where a rank's memory is here; null where it is not in that rank's arena.
  std::byte* at(int rank, std::size_t offset, std::size_t bytes) const;
  std::byte* state(int rank) const;
  std::byte* slots(int rank) const;

 private:
  Segment& segment(int rank) const { return *segments_[static_cast<std::size_t>(rank)]; }

  const int rank_;
  const std::vector<std::shared_ptr<Segment>> segments_;
  Arena arena_;
};

}  // namespace coll

#endif
