#include "shared_memory.h"

#if defined(__linux__)

#include "../error.h"
#include "huge_pages.h"
#include "rank_state.h"

namespace coll {
namespace {

constexpr std::size_t in_pages(std::size_t bytes) { return (bytes + kSmallPage - 1) / kSmallPage * kSmallPage; }

// Other ranks read a rank's state before that rank can execute anything, and the rest only after
// its first announcement.
static_assert(sizeof(SharedRankState) + (std::size_t{64} << 10) <= Segment::kReadyBytes);

std::size_t state_begin() { return Segment::first_free(); }
std::size_t slots_begin() { return state_begin() + in_pages(sizeof(SharedRankState)); }
std::size_t arena_begin() { return slots_begin() + kSlotsBytes; }

std::shared_ptr<Segment> with_room_for_all(const std::shared_ptr<Segment>& segment) {
  segment->grow_to(arena_begin());
  return segment;
}

}  // namespace

SharedMemory::SharedMemory(int rank, std::vector<std::shared_ptr<Segment>> segments)
    : rank_(rank), segments_(std::move(segments)),
      arena_(with_room_for_all(segments_[static_cast<std::size_t>(rank)]), arena_begin()) {
  for (int other = 0; other < size(); ++other) {
    if (segment(other).most_bytes() >= arena_begin()) continue;
    throw Error("the shared memory of rank " + std::to_string(other) + " is too small");
  }
}

std::size_t SharedMemory::fixed_bytes() { return arena_begin(); }

bool SharedMemory::has(const void* address, std::size_t bytes) const {
  const Segment& own = segment(rank_);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(own.begin());
  return at >= begin + arena_begin() && at - begin <= own.most_bytes() && bytes <= own.most_bytes() - (at - begin);
}

std::size_t SharedMemory::offset_of(const void* address) const {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - segment(rank_).begin());
}

std::byte* SharedMemory::at(int rank, std::size_t offset, std::size_t bytes) const {
  if (offset < arena_begin() || !segment(rank).reaches(offset, bytes)) return nullptr;
  return segment(rank).begin() + offset;
}

std::byte* SharedMemory::state(int rank) const { return segment(rank).begin() + state_begin(); }

std::byte* SharedMemory::slots(int rank) const { return segment(rank).begin() + slots_begin(); }

}  // namespace coll

#endif
