#include <algorithm>
#include <numeric>
#include <thread>

#include "gpus.h"

namespace coll::test {
namespace {

std::vector<int> counting(std::size_t count, int first = 0) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(Buffers, readReturnsWhatWasWritten) {
  // Tests no elements, less than a chunk, one chunk, and several.
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, tuning::kSmallChunkBytes / 4 + 1, 3 * tuning::kChunkBytes / 4 + 7}) {
    const std::vector<int> values = counting(count);
    EXPECT_EQ(values_of<int>(allocate_with(1, values)), values) << count;
  }
}

TEST(Buffers, operationsOnOneBufferRunInOrderWithoutAwaiting) {
  std::vector<int> values = counting(1000);
  std::vector<int> read_back(values.size());
  const SharedAllocation first = allocate(0, 4000);
  const SharedAllocation second = allocate(2, 4000);
  std::vector<Outcome> outcomes;
  const auto add = [&](const SharedOperation& operation) { outcomes.push_back(submit(operation)); };
  add(write_buffer(gpus(), {first, 0}, memory_of(values.data(), 4000))[0]);
  add(copy_buffer(gpus(), {second, 0}, {first, 0}, 4000));
  add(fill_buffer(gpus(), {first, 0}, 4000, {0}));
  add(copy_buffer(gpus(), {first, 400}, {second, 0}, 3600));
  add(read_buffer(gpus(), {first, 0}, memory_of(read_back.data(), 4000))[0]);
  for (Outcome& outcome : outcomes) EXPECT_FALSE(outcome.get());
  std::vector<int> expected(100, 0);
  expected.insert(expected.end(), values.begin(), values.begin() + 900);
  EXPECT_EQ(read_back, expected);
}

TEST(Buffers, overlappingRangesAreCopiedCorrectly) {
  const std::vector<int> values = counting(1000);
  for (const std::size_t shift : {0, 1, 300}) {
    const std::size_t left = values.size() - shift;
    std::vector<int> up = values;
    std::copy_n(values.begin(), left, up.begin() + static_cast<std::ptrdiff_t>(shift));
    std::vector<int> down = values;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(shift), left, down.begin());
    const SharedAllocation moved_up = allocate_with(0, values);
    const SharedAllocation moved_down = allocate_with(0, values);
    EXPECT_FALSE(run(copy_buffer(gpus(), {moved_up, shift * 4}, {moved_up, 0}, left * 4)));
    EXPECT_FALSE(run(copy_buffer(gpus(), {moved_down, 0}, {moved_down, shift * 4}, left * 4)));
    EXPECT_EQ(values_of<int>(moved_up), up) << shift;
    EXPECT_EQ(values_of<int>(moved_down), down) << shift;
  }
}

TEST(Buffers, aFillRepeatsPatternsOfAllWidths) {
  for (const std::size_t width : {1u, 2u, 4u, 8u}) {
    std::vector<unsigned char> pattern(width);
    std::iota(pattern.begin(), pattern.end(), static_cast<unsigned char>(1));
    const std::size_t bytes = width * 37;
    const SharedAllocation filled = allocate(0, bytes + 3);
    EXPECT_FALSE(run(fill_buffer(gpus(), {filled, 3}, bytes, pattern)));
    const std::vector<unsigned char> found = values_of<unsigned char>(filled);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(found[3 + i], pattern[i % width]) << width;
  }
}

TEST(Buffers, afterAFailedAllocationAllUsesOfTheBufferFail) {
  const SharedAllocation huge = allocate(0, std::size_t{1} << 40);
  const SharedAllocation copy = allocate(0, 16);
  EXPECT_EQ(run(copy_buffer(gpus(), {copy, 0}, {huge, 0}, 16))->kind, FailureKind::kOutOfMemory);
  int number = 0;
  EXPECT_EQ(read(copy, &number, 4)->kind, FailureKind::kOutOfMemory);
}

TEST(Buffers, foreignMemoryIsCheckedAndNeverFreed) {
  const SharedAllocation owner = allocate_with<int>(1, {7, 8});
  EXPECT_FALSE(run(copy_buffer(gpus(), {owner, 0}, {owner, 0}, 0)));
  for (const int device : {1, 0}) {
    SharedAllocation adopted = gpus().new_allocation(device, 8, false);
    const std::optional<Failure> failure = run(adopt_pointer(gpus(), adopted, owner->pointer));
    EXPECT_EQ(failure.has_value(), device == 0);
    if (!failure) {
      EXPECT_EQ(values_of<int>(adopted), (std::vector<int>{7, 8}));
    }
  }
  EXPECT_EQ(values_of<int>(owner), (std::vector<int>{7, 8}));
}

TEST(Buffers, foreignMemoryMustContainTheWholeBuffer) {
  const SharedAllocation owner = allocate_with<int>(1, {7, 8});
  EXPECT_FALSE(run(fill_buffer(gpus(), {owner, 0}, 8, {0})));
  const auto adopted = [&](cuda::Pointer offset, std::size_t bytes) {
    return run(adopt_pointer(gpus(), gpus().new_allocation(1, bytes, false), owner->pointer + offset));
  };
  EXPECT_FALSE(adopted(4, 4));
  const std::optional<Failure> longer = adopted(4, 5);
  expect_kind(longer, FailureKind::kInvalidArgument);
  EXPECT_EQ(longer->message, "the pointer has 4 bytes up to the end of its allocation, not 5");
  expect_kind(adopted(0, SIZE_MAX), FailureKind::kInvalidArgument);
  expect_kind(adopted(8, 1), FailureKind::kInvalidArgument);
  const Wish wish("strange context");
  expect_kind(adopted(0, 8), FailureKind::kInvalidArgument);
}

TEST(Buffers, allMemoryIsReturned) {
  for (int i = 0; i < 50; ++i) values_of<int>(allocate_with(i % kGpus, counting(100)));
  for (int looks = 0; looks < 60'000 && gpus().counts.buffers > 0; ++looks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(gpus().counts.buffers, 0);
}

TEST(Buffers, aRefusalOfTheDriverIsReportedWithItsCode) {
  const SharedAllocation filled = allocate(0, 64);
  EXPECT_FALSE(run(fill_buffer(gpus(), {filled, 0}, 64, {0})));
  const Wish wish("fail cuMemsetD8Async 719");
  const std::optional<Failure> failure = run(fill_buffer(gpus(), {filled, 0}, 64, {1}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, FailureKind::kCuda);
  EXPECT_EQ(failure->code, 719);
}

void free_on_a_failed_gpu() {
  SharedAllocation lost = allocate(0, 64);
  std::vector<int> values(16);
  // The read runs on another lane than the free, and must wait for it.
  EXPECT_FALSE(read(lost, values.data(), 64));
  const Wish wish("fail cuStreamWaitEvent 700");
  lost.reset();
  for (int looks = 0; looks < 60'000 && gpus().counts.buffers > 0; ++looks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(gpus().counts.buffers, 0);
}

// Runs in a process of its own, so that memory of this process keeps its addresses.
TEST(BuffersDeathTest, afterAGpuFailureMemoryIsReleasedWithoutMessages) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto scenario = [] {
    free_on_a_failed_gpu();
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace coll::test
