#pragma once

#if defined(__linux__)

#include <cstddef>

namespace coll {

// The size of a huge page on processors with pages of 4 KiB. On others, the system refuses the
// calls.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallPage = 4096;

// Maps a file of shared memory at an address that allows huge pages. Returns null if there is no
// address space.
std::byte* map_for_huge_pages(int descriptor, std::size_t bytes);

// Replaces the small pages of a large tensor, from `begin` to `end`, by huge pages if the system
// can. Other threads may use the memory meanwhile. Takes seconds per gigabyte if the system first
// has to find huge pages.
void collapse_into_huge_pages(std::byte* memory, std::size_t begin, std::size_t end);

}  // namespace coll

#endif
