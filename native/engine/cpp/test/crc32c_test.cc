#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/crc32c.h"

namespace coll::test {
namespace {

std::vector<Crc32c> implementations() {
  std::vector<Crc32c> all{crc32c, crc32c_by_table};
  if (const Crc32c found = find_crc32c_instructions()) all.push_back(found);
  return all;
}

std::uint32_t of_text(Crc32c implementation, const std::string& text) { return implementation(0, reinterpret_cast<const std::byte*>(text.data()), text.size()); }

TEST(Crc32c, HasTheValuesOfTheStandard) {
  for (const Crc32c implementation : implementations()) {
    EXPECT_EQ(of_text(implementation, ""), 0u);
    EXPECT_EQ(of_text(implementation, "123456789"), 0xe3069283u);
    // RFC 3720, B.4.
    EXPECT_EQ(of_text(implementation, std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(of_text(implementation, std::string(32, '\xff')), 0x62a8ab43u);
  }
}

TEST(Crc32c, IsTheSameByInstructionsAndInParts) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(70'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (int round = 0; round < 300; ++round) {
    const std::size_t begin = random() % 64;
    const std::size_t count = random() % (round % 2 == 0 ? 100 : bytes.size() - begin);
    const std::size_t first = count == 0 ? 0 : random() % count;
    const std::uint32_t expected = crc32c_by_table(0, bytes.data() + begin, count);
    for (const Crc32c implementation : implementations()) {
      ASSERT_EQ(implementation(0, bytes.data() + begin, count), expected) << count;
      ASSERT_EQ(implementation(implementation(0, bytes.data() + begin, first), bytes.data() + begin + first, count - first), expected) << count;
    }
  }
}

}  // namespace
}  // namespace coll::test
