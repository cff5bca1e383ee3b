#pragma once

#if defined(__linux__)

#include <cstddef>

namespace coll {

// The size on all processors with pages of 4 KiB. With larger pages, the system refuses.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallPage = 4096;

// Maps a file of shared memory so that its huge pages can be mapped as such; null where there is no address space.
std::byte* map_for_huge_pages(int descriptor, std::size_t bytes);

// Replaces the small pages of a large tensor at these offsets of shared memory by huge ones, if the
// system can. Others may use the memory meanwhile. Takes seconds per gigabyte if the system first
// has to find pages.
void collapse_into_huge_pages(std::byte* memory, std::size_t begin, std::size_t end);

}  // namespace coll

#endif
