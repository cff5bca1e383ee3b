#include "crc32c.h"

#include <array>

#include "processor_crc32c.h"

namespace coll {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = state;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t crc, const std::byte* bytes, std::size_t count) {
  std::uint32_t state = ~crc;
  for (std::size_t i = 0; i < count; ++i) state = kTable[(state ^ static_cast<std::uint32_t>(bytes[i])) & 255] ^ (state >> 8);
  return ~state;
}

Crc32c find_crc32c_instructions() { return has_crc32c() ? built_crc32c_instructions() : nullptr; }

std::uint32_t crc32c(std::uint32_t crc, const std::byte* bytes, std::size_t count) {
  static const Crc32c found = find_crc32c_instructions();
  return found != nullptr ? found(crc, bytes, count) : crc32c_by_table(crc, bytes, count);
}

}  // namespace coll
