#pragma once

#include <cstddef>
#include <cstdint>

namespace coll {

// The CRC32C (Castagnoli, as in iSCSI) of bytes that follow others, whose CRC32C is `crc`; 0 if none
// precede.
std::uint32_t crc32c(std::uint32_t crc, const std::byte* bytes, std::size_t count);

// The implementations: by instructions, null if this processor has none; and for all processors.
using Crc32c = std::uint32_t (*)(std::uint32_t crc, const std::byte* bytes, std::size_t count);
Crc32c find_crc32c_instructions();
// The same, without a look at this processor; null if the build has none.
Crc32c built_crc32c_instructions();
std::uint32_t crc32c_by_table(std::uint32_t crc, const std::byte* bytes, std::size_t count);

}  // namespace coll
