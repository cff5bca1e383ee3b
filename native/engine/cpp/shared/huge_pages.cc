#include "huge_pages.h"

#if defined(__linux__)

#include <sys/mman.h>

#include <cstdint>

namespace coll {
namespace {

// Values of Linux 5.14 and 6.1 for madvise(), which older headers do not name.
constexpr int kPopulate = 22;
constexpr int kCollapse = 25;

}  // namespace

std::byte* map_for_huge_pages(int descriptor, std::size_t bytes) {
  const std::size_t room = bytes + kHugePage;
  void* const space = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(space);
  const std::size_t before = kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  void* const memory = mmap(begin + before, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor, 0);
  if (memory == MAP_FAILED) {
    munmap(begin, room);
    return nullptr;
  }
  munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + bytes, kHugePage - before);
  // Most systems refuse huge pages here. Their pages are collapsed later.
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

void collapse_into_huge_pages(std::byte* memory, std::size_t begin, std::size_t end) {
  // The first page, shared with the previous tensor, is complete now; the last one is not.
  const std::size_t first = begin / kHugePage * kHugePage;
  const std::size_t last = end / kHugePage * kHugePage;
  // Ranges without pages cannot be collapsed. Reading them would race with threads that write
  // there.
  for (std::size_t at = first; at < last; at += kHugePage) madvise(memory + at, kSmallPage, kPopulate);
  // Collapses all pages in one call, because each call first waits for all processors.
  madvise(memory + first, last - first, kCollapse);
}

}  // namespace coll

#endif
