#pragma once

#if defined(__linux__)

#include <cstddef>

namespace coll {

// Of all processors with pages of 4 KiB. Where they are larger, the system refuses.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallPage = 4096;

// Maps a file of shared memory so that its huge pages can be mapped as such; null where there is no address space.
std::byte* map_for_huge_pages(int descriptor, std::size_t bytes);

// Puts huge pages in place of the small ones under a large tensor that lies at these offsets of shared memory, where the system can;
// otherwise all stays as it is. Others may work there meanwhile. Takes seconds for a gigabyte where the system first has to find pages.
void collapse_into_huge_pages(std::byte* memory, std::size_t begin, std::size_t end);

}  // namespace coll

#endif
