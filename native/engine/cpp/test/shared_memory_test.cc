#if defined(__linux__)

#include "shared/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "error.h"
#include "shared/huge_pages.h"
#include "shared/rank_state.h"
#include "test_bytes.h"

namespace coll::test {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;

std::string reason_of(const SegmentInfo& info) {
  try {
    Segment::open(info);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Segment, IsTheSameMemoryForAllRanksThatOpenIt) {
  const auto own = Segment::create(kBytes);
  const auto other = Segment::open(own->info());
  EXPECT_NE(own->begin(), other->begin());
  const std::size_t at = Segment::first_free() + 5'000'000;
  EXPECT_FALSE(other->reaches(at, 1));
  own->grow_to(at + 1);
  ASSERT_TRUE(other->reaches(at, 1));
  own->begin()[at] = std::byte{7};
  EXPECT_EQ(other->begin()[at], std::byte{7});
  EXPECT_FALSE(other->reaches(kBytes, 1));
  EXPECT_FALSE(other->reaches(at, SIZE_MAX));
}

TEST(Segment, ShowsItsOwnerWhichRanksHaveOpenedIt) {
  const auto own = Segment::create(kBytes);
  EXPECT_FALSE(own->has_mark_of(3));
  Segment::open(own->info())->leave_mark(3);
  EXPECT_TRUE(own->has_mark_of(3));
  EXPECT_FALSE(own->has_mark_of(2));
}

TEST(Segment, OutlivesItsOwner) {
  auto own = Segment::create(kBytes);
  const auto other = Segment::open(own->info());
  own.reset();
  other->leave_mark(1);
  EXPECT_TRUE(other->has_mark_of(1));
}

TEST(Segment, ReportsWhyItCannotBeOpened) {
  const auto own = Segment::create(kBytes);
  SegmentInfo info = own->info();
  info.descriptor = 9999;
  EXPECT_NE(reason_of(info).find("cannot be opened"), std::string::npos);
  info = own->info();
  info.inode += 1;
  EXPECT_NE(reason_of(info).find("another container"), std::string::npos);
  info = own->info();
  info.token[3] ^= 1;
  EXPECT_NE(reason_of(info).find("another container"), std::string::npos);
}

// Refuses files that could shrink and files that are not segments.
TEST(Segment, IsOpenedOnlyFromValidFiles) {
  const int file = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(file, 1 << 20), 0);
  struct stat status {};
  fstat(file, &status);
  const SegmentInfo info{getpid(), file, 0, status.st_dev, status.st_ino, {}};
  EXPECT_NE(reason_of(info), "");
  ASSERT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_NE(reason_of(info), "");
  close(file);
}

TEST(Segment, HasRoomOnlyForTheMarksOfItsRanks) {
  const auto own = Segment::create(kBytes);
  own->leave_mark(Segment::kMostMarks - 1);
  EXPECT_TRUE(own->has_mark_of(Segment::kMostMarks - 1));
  EXPECT_FALSE(own->has_mark_of(0));
  for (const int rank : {-1, Segment::kMostMarks}) {
    EXPECT_THROW(own->leave_mark(rank), Error);
    EXPECT_THROW(own->has_mark_of(rank), Error);
  }
}

TEST(Segment, DoesNotShrink) {
  const auto own = Segment::create(kBytes);
  EXPECT_NE(ftruncate(own->info().descriptor, 0), 0);
}

TEST(SharedMemory, AllocatesUpToItsLimit) {
  SharedMemory memory(0, {Segment::create(kBytes)});
  std::byte* const large = memory.allocate(kBytes / 2);
  EXPECT_TRUE(memory.has(large, kBytes / 2));
  EXPECT_THROW(memory.allocate(kBytes / 2), Error);
  EXPECT_THROW(memory.allocate(SIZE_MAX), Error);
  memory.free(large);
  EXPECT_EQ(memory.allocate(kBytes / 2), large);
  EXPECT_THROW(memory.free(large + 1), Error);
}

TEST(SharedMemory, RecognisesMemoryOfItsArena) {
  const auto own = Segment::create(kBytes);
  SharedMemory memory(0, {own});
  std::byte* const tensor = memory.allocate(100);
  const float ordinary = 0;
  EXPECT_TRUE(memory.has(tensor, 100));
  EXPECT_FALSE(memory.has(tensor, kBytes));
  EXPECT_FALSE(memory.has(&ordinary, 4));
  EXPECT_FALSE(memory.has(own->begin(), 1));
  EXPECT_FALSE(memory.has(memory.slots(0), 1));
  EXPECT_FALSE(memory.has(nullptr, 0));
}

TEST(SharedMemory, RecognisesArenasOfOtherRanks) {
  const auto first = Segment::create(kBytes);
  const auto second = Segment::create(kBytes);
  SharedMemory one(0, {first, Segment::open(second->info())});
  SharedMemory other(1, {Segment::open(first->info()), second});
  std::byte* const tensor = one.allocate(1000);
  std::byte* const seen = other.at(0, one.offset_of(tensor), 1000);
  ASSERT_NE(seen, nullptr);
  tensor[999] = std::byte{5};
  EXPECT_EQ(seen[999], std::byte{5});
  // Offsets outside of a rank's memory are refused, even if the rank has announced them.
  EXPECT_EQ(other.at(0, 0, 1), nullptr);
  EXPECT_EQ(other.at(0, one.offset_of(tensor), kBytes), nullptr);
  EXPECT_EQ(other.at(0, kBytes - 1, 1), nullptr);
  EXPECT_EQ(other.at(0, SIZE_MAX, 2), nullptr);
}

// The bytes of the segment that occupy memory of the system.
std::size_t resident_bytes(const Segment& segment) {
  struct stat status {};
  fstat(segment.info().descriptor, &status);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

TEST(Arena, ReturnsUnusedMemoryToTheSystem) {
  const auto segment = Segment::create(kBytes);
  Arena arena(segment, Segment::first_free(), std::chrono::milliseconds(1));
  std::byte* const kept = arena.allocate(1000);
  std::byte* const tensor = arena.allocate(kBytes / 2);
  std::memset(kept, 1, 1000);
  std::memset(tensor, 1, kBytes / 2);
  EXPECT_GE(resident_bytes(*segment), kBytes / 2);
  arena.free(tensor);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (resident_bytes(*segment) > 2 * kHugePage + kHugePage / 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_LE(resident_bytes(*segment), 2 * kHugePage + kHugePage / 2);
  EXPECT_TRUE(has_only(kept, 1000, std::byte{1}));
  EXPECT_EQ(arena.allocate(kBytes / 2), tensor);
  EXPECT_TRUE(has_only(tensor, kBytes / 2, std::byte{0}));
}

TEST(Arena, KeepsMemoryThatIsReused) {
  const auto segment = Segment::create(kBytes);
  Arena arena(segment, Segment::first_free(), std::chrono::hours(1));
  std::byte* const tensor = arena.allocate(kBytes / 2);
  std::memset(tensor, 1, kBytes / 2);
  const std::size_t before = resident_bytes(*segment);
  arena.free(tensor);
  EXPECT_EQ(arena.allocate_unset(kBytes / 2), tensor);
  EXPECT_TRUE(has_only(tensor, kBytes / 2, std::byte{1}));
  EXPECT_EQ(resident_bytes(*segment), before);
}

// Larger sizes are those of tensors with huge pages of their own.
TEST(Arena, AllocatesZerosWhileItReturnsMemory) {
  Arena arena(Segment::create(kBytes), Segment::first_free(), std::chrono::milliseconds(0));
  std::mt19937 random(5);
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (int round = 0; round < 400; ++round) {
    if (taken.size() == 5 || (!taken.empty() && random() % 2 == 0)) {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [tensor, bytes] = taken.back();
      EXPECT_TRUE(has_only(tensor, bytes, std::byte{1}));
      arena.free(tensor);
      taken.pop_back();
      continue;
    }
    const std::size_t bytes = random() % (3 * kHugePage);
    std::byte* const tensor = arena.allocate(bytes);
    EXPECT_TRUE(has_only(tensor, bytes, std::byte{0}));
    std::memset(tensor, 1, bytes);
    taken.emplace_back(tensor, bytes);
  }
}

TEST(Arena, AllocatesZerosThatOverlapNoOtherMemory) {
  SharedMemory memory(0, {Segment::create(kBytes)});
  std::mt19937 random(3);
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (int round = 0; round < 3000; ++round) {
    if (!taken.empty() && random() % 2 == 0) {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [tensor, bytes] = taken.back();
      EXPECT_TRUE(has_only(tensor, bytes, std::byte{1}));
      memory.free(tensor);
      taken.pop_back();
      continue;
    }
    const std::size_t bytes = random() % 5000;
    std::byte* const tensor = memory.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor) % 64, 0u);
    EXPECT_TRUE(has_only(tensor, bytes, std::byte{0}));
    std::memset(tensor, 1, bytes);
    taken.emplace_back(tensor, bytes);
  }
  // Everything becomes one hole again.
  std::byte* lowest = taken[0].first;
  for (const auto& [tensor, bytes] : taken) {
    lowest = std::min(lowest, tensor);
    memory.free(tensor);
  }
  std::byte* const large = memory.allocate(kBytes / 2);
  EXPECT_LE(large, lowest + 5000 * 3000);
}

}  // namespace
}  // namespace coll::test

#endif
