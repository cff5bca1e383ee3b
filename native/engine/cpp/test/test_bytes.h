#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

// Fills and compares large buffers by functions of the C library: sanitizers check each byte of a
// loop, which is slow.
namespace coll::test {

// Fills with random bits of `mask`. They repeat after a prime number of bytes, so blocks of any size differ from each other.
inline void fill_randomly(std::vector<std::byte>& bytes, unsigned seed, unsigned mask) {
  constexpr std::size_t kPeriod = 65537;
  std::minstd_rand random(seed);
  const std::size_t drawn = std::min(bytes.size(), kPeriod);
  for (std::size_t i = 0; i < drawn; ++i) bytes[i] = static_cast<std::byte>((random() >> 8) & mask);
  for (std::size_t at = drawn; at < bytes.size(); at += kPeriod) {
    std::memcpy(&bytes[at], bytes.data(), std::min(kPeriod, bytes.size() - at));
  }
}

inline bool has_bytes(const std::byte* begin, const std::vector<std::byte>& bytes) {
  return bytes.empty() || std::memcmp(begin, bytes.data(), bytes.size()) == 0;
}

inline bool has_only(const std::byte* begin, std::size_t bytes, std::byte value) {
  return bytes == 0 || (*begin == value && std::memcmp(begin, begin + 1, bytes - 1) == 0);
}

}  // namespace coll::test
