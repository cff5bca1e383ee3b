#if defined(__linux__)

#include "shared/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "shared/shared_memory.h"

namespace coll::test {
namespace {

constexpr std::size_t kHuge = kHugePage;

// The memory of all processes in huge pages, as the system reports it.
std::size_t kilobytes_in_huge_pages() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  std::size_t kilobytes = 0;
  while (file >> word) {
    if (word == "ShmemPmdMapped:") file >> kilobytes;
  }
  return kilobytes;
}

// Whether this system has huge pages for shared memory. Emulators claim so, but have none.
bool can_gather() {
  const int file = memfd_create("trial", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kHuge) != 0) return false;
  std::byte* const memory = map_for_huge_pages(file, kHuge);
  memory[0] = std::byte{1};
  const std::size_t before = kilobytes_in_huge_pages();
  const bool can = madvise(memory, kHuge, 25) == 0 && kilobytes_in_huge_pages() > before;
  munmap(memory, kHuge);
  close(file);
  return can;
}

// The processor time of the calling thread, which excludes other programs.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(HugePages, AreMappedAtAlignedAddresses) {
  const auto own = Segment::create(16 * kHuge);
  const auto other = Segment::open(own->info());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own->begin()) % kHuge, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(other->begin()) % kHuge, 0u);
}

TEST(HugePages, HoldLargeTensorsOfTheArena) {
  if (!can_gather()) GTEST_SKIP() << "this system has none for shared memory";
  SharedMemory memory(0, {Segment::create(32 * kHuge)});
  const std::size_t before = kilobytes_in_huge_pages();
  std::byte* const tensor = memory.allocate(8 * kHuge);
  // Excludes the last page, which will be shared with other tensors.
  while (kilobytes_in_huge_pages() < before + 8 * kHuge / 1024) std::this_thread::yield();
  EXPECT_EQ(tensor[0], std::byte{0});
  EXPECT_EQ(tensor[8 * kHuge - 1], std::byte{0});
}

// The allocating thread may have an event loop. A gigabyte takes 70 milliseconds at best, and
// mostly seconds.
TEST(HugePages, BlockTheAllocatingThreadOnlyBriefly) {
  if (!can_gather()) GTEST_SKIP() << "this system has none for shared memory";
  SharedMemory memory(0, {Segment::create(600 * kHuge)});
  const std::chrono::nanoseconds before = processor_time();
  memory.allocate(512 * kHuge);
  EXPECT_LT(processor_time() - before, std::chrono::milliseconds(50));
}

TEST(HugePages, KeepExistingData) {
  const auto segment = Segment::create(8 * kHuge);
  segment->grow_to(4 * kHuge);
  const std::size_t begin = Segment::first_free();
  for (std::size_t at = begin; at < 4 * kHuge; ++at) segment->begin()[at] = static_cast<std::byte>(at % 251);
  collapse_into_huge_pages(segment->begin(), begin, 4 * kHuge);
  std::size_t wrong = 0;
  for (std::size_t at = begin; at < 4 * kHuge; ++at) wrong += segment->begin()[at] != static_cast<std::byte>(at % 251);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace coll::test

#endif
