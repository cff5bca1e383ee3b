#include <array>
#include <cstring>

#include "../cache_line.h"
#include "crc32c.h"

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace coll {

#if defined(__SSE4_2__) || defined(__ARM_FEATURE_CRC32)

namespace {

#if defined(__SSE4_2__)
std::uint32_t after_word(std::uint32_t state, std::uint64_t word) { return static_cast<std::uint32_t>(_mm_crc32_u64(state, word)); }
std::uint32_t after_byte(std::uint32_t state, std::byte byte) { return _mm_crc32_u8(state, static_cast<unsigned char>(byte)); }
#else
std::uint32_t after_word(std::uint32_t state, std::uint64_t word) { return __crc32cd(state, word); }
std::uint32_t after_byte(std::uint32_t state, std::byte byte) { return __crc32cb(state, static_cast<unsigned char>(byte)); }
#endif

// The instruction takes three cycles, but one can begin in each cycle. So three blocks are summed at
// once, each as if nothing came before it, and their states are joined at the end.
constexpr std::size_t kBlockBytes = 1024;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// What a state becomes by kBlockBytes zeros, for each value of each of its bytes.
using Shift = std::array<std::array<std::uint32_t, 256>, sizeof(std::uint32_t)>;

Shift make_shift() {
  Shift shift{};
  for (std::size_t place = 0; place < shift.size(); ++place) {
    for (std::uint32_t bit = 1; bit < 256; bit *= 2) {
      std::uint32_t state = bit << (8 * place);
      for (std::size_t at = 0; at < kBlockBytes; at += kWordBytes) state = after_word(state, 0);
      // The operation is linear.
      for (std::uint32_t lower = 0; lower < bit; ++lower) shift[place][bit + lower] = shift[place][lower] ^ state;
    }
  }
  return shift;
}

std::uint32_t shifted(const Shift& shift, std::uint32_t state) {
  return shift[0][state & 255] ^ shift[1][(state >> 8) & 255] ^ shift[2][(state >> 16) & 255] ^ shift[3][state >> 24];
}

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Processors do not foresee that the next blocks follow: without this, memory that is in no cache
// takes 1.6 times as long.
void prefetch_three(const std::byte* lines) {
  for (std::size_t line = 0; line < 3; ++line) __builtin_prefetch(lines + line * kCacheLine);
}

std::uint32_t crc32c_by_instructions(std::uint32_t crc, const std::byte* bytes, std::size_t count) {
  static const Shift shift = make_shift();
  std::uint32_t state = ~crc;
  for (; count >= 3 * kBlockBytes; count -= 3 * kBlockBytes, bytes += 3 * kBlockBytes) {
    std::uint32_t second = 0;
    std::uint32_t third = 0;
    for (std::size_t at = 0; at < kBlockBytes; at += kWordBytes) {
      if (at % kCacheLine == 0) prefetch_three(bytes + 3 * (kBlockBytes + at));
      state = after_word(state, word_at(bytes + at));
      second = after_word(second, word_at(bytes + kBlockBytes + at));
      third = after_word(third, word_at(bytes + 2 * kBlockBytes + at));
    }
    state = shifted(shift, shifted(shift, state) ^ second) ^ third;
  }
  for (; count >= kWordBytes; count -= kWordBytes, bytes += kWordBytes) state = after_word(state, word_at(bytes));
  for (; count > 0; --count, ++bytes) state = after_byte(state, *bytes);
  return ~state;
}

}  // namespace

#endif

Crc32c built_crc32c_instructions() {
#if defined(__SSE4_2__) || defined(__ARM_FEATURE_CRC32)
  return crc32c_by_instructions;
#else
  return nullptr;
#endif
}

}  // namespace coll
