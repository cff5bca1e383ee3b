#pragma once

#if defined(__linux__)

#include <cstddef>
#include <memory>
#include <vector>

#include "../threads/board.h"
#include "arena.h"
#include "segment.h"

namespace coll {

// The memory of ranks that are processes of one host, as one of them sees it. Each rank has a
// segment:
//
//     head | state | slots | arena
//
// A rank writes only to its own state and slots, and to other ranks' arenas if results of a
// collective belong there.
class SharedMemory {
 public:
  // The segments of all ranks, by rank. One's own was created here, the others were opened.
  SharedMemory(int rank, std::vector<std::shared_ptr<Segment>> segments);

  // Zeroed memory for a tensor, which all ranks can access directly, at the beginning of a cache
  // line. Throws Error if there is not enough. Any thread may call these. Memory must not be freed
  // while a collective uses it.
  std::byte* allocate(std::size_t bytes) { return arena_.allocate(bytes); }
  // Like allocate(), with undefined contents.
  std::byte* allocate_unset(std::size_t bytes) { return arena_.allocate_unset(bytes); }
  void free(std::byte* memory) { arena_.free(memory); }
  // Whether memory lies in this rank's arena.
  bool has(const void* address, std::size_t bytes) const;

  // Whether all pieces of an offer's input or output, which has `bytes` in all, are in this rank's
  // arena.
  template <class Byte>
  bool has(const std::vector<Byte*>& pieces, const Offer& offer, std::size_t bytes) const {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (!has(pieces[i], offer.bytes_of_piece(i, bytes))) return false;
    }
    return true;
  }

  // The size of a segment without its arena.
  static std::size_t fixed_bytes();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(segments_.size()); }
  // The offset by which other ranks find memory of this rank's arena.
  std::size_t offset_of(const void* address) const;
  // The address of a rank's memory in this process; null if it is not in that rank's arena.
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
