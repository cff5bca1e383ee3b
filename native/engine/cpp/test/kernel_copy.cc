#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "../kernels/fold.h"

namespace coll {
namespace {

constexpr std::size_t kRoom = 256;

std::vector<std::byte> counted(std::size_t size) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(i * 7 + i / 256));
  return bytes;
}

TEST(Copy, WritesOnlyTheGivenBytes) {
  for (const Write write : {Write::kCached, Write::kStreamed}) {
    for (const std::size_t bytes : {0, 1, 2, 15, 63, 64, 65, 127, 128, 200, 1000, 100001}) {
      for (const std::size_t from_offset : {0, 1, 8, 63}) {
        for (const std::size_t into_offset : {0, 1, 4, 16, 48, 63}) {
          const std::vector<std::byte> source = counted(bytes + kRoom);
          std::vector<std::byte> target(bytes + kRoom);
          std::vector<std::byte> expected(bytes + kRoom);
          std::memcpy(expected.data() + into_offset, source.data() + from_offset, bytes);
          coll::copy(target.data() + into_offset, source.data() + from_offset, bytes, write);
          ASSERT_EQ(target, expected) << bytes << " bytes from " << from_offset << " to " << into_offset;
        }
      }
    }
  }
}

// Both ranges are in one buffer, which determines the distance of their addresses within the pages.
TEST(Copy, IsCorrectForEveryDistanceWithinAPage) {
  constexpr std::size_t kApart = 3 * 4096;
  for (const std::size_t bytes : {2047, 2048, 2111, 4096, 10001}) {
    for (const std::size_t ahead : {0, 1, 16, 32, 63, 64, 65, 4032, 4033, 4095}) {
      std::vector<std::byte> buffer = counted(bytes);
      buffer.resize(kApart + ahead + bytes + kRoom);
      std::vector<std::byte> expected = buffer;
      std::memmove(expected.data() + kApart + ahead, expected.data(), bytes);
      coll::copy(buffer.data() + kApart + ahead, buffer.data(), bytes);
      ASSERT_EQ(buffer, expected) << bytes << " bytes, " << ahead << " ahead";
    }
  }
}

TEST(Copy, KeepsDataThatIsCopiedOntoItself) {
  std::vector<std::byte> bytes = counted(1000);
  coll::copy(bytes.data(), bytes.data(), bytes.size());
  coll::copy(bytes.data(), bytes.data(), bytes.size(), Write::kStreamed);
  EXPECT_EQ(bytes, counted(1000));
}

}  // namespace
}  // namespace coll
