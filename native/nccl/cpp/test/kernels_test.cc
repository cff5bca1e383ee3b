#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "../kernels/numbers.cuh"
#include "gpus.h"

namespace coll::test {
namespace {

template <class Half>
void expect_all_rounded(std::uint16_t infinity) {
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = widened(half);
    ASSERT_EQ(narrowed_to(Half(), value).bits, bits);
    ASSERT_EQ(narrowed_to(Half(), -value).bits, bits | 0x8000u);
    const float next = widened(Half{static_cast<std::uint16_t>(bits + 1)});
    if (std::isinf(next)) continue;
    const float middle = value + (next - value) / 2;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(narrowed_to(Half(), middle).bits, even) << bits;
    ASSERT_EQ(narrowed_to(Half(), std::nextafter(middle, next)).bits, bits + 1) << bits;
    ASSERT_EQ(narrowed_to(Half(), std::nextafter(middle, value)).bits, bits) << bits;
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(widened(narrowed_to(Half(), nan))));
  EXPECT_EQ(narrowed_to(Half(), std::numeric_limits<float>::infinity()).bits, infinity);
  EXPECT_EQ(narrowed_to(Half(), std::numeric_limits<float>::max()).bits, infinity);
}

TEST(HalfTypes, everyFloat16IsRoundedToTheNearest) { expect_all_rounded<Float16>(0x7c00); }
TEST(HalfTypes, everyBFloat16IsRoundedToTheNearest) { expect_all_rounded<BFloat16>(0x7f80); }

template <class T>
std::vector<T> combined(const std::vector<std::vector<T>>& rows, int dtype, int op) {
  std::vector<DeviceAddress> inputs;
  for (const std::vector<T>& row : rows) inputs.push_back({allocate_with(0, row), 0});
  const SharedAllocation into = allocate(0, rows[0].size() * sizeof(T));
  EXPECT_FALSE(run(combine(gpus(), {into, 0}, inputs, dtype, op, rows[0].size())));
  return values_of<T>(into);
}

TEST(CombineKernel, addsMultipliesAndCompares) {
  const std::vector<std::vector<float>> rows = {{1, -2, 3}, {4, 5, -6}, {0.5, 1, 2}};
  EXPECT_EQ(combined(rows, kFloat32, kSum), (std::vector<float>{5.5, 4, -1}));
  EXPECT_EQ(combined(rows, kFloat32, kProduct), (std::vector<float>{2, -10, -36}));
  EXPECT_EQ(combined(rows, kFloat32, kMaximum), (std::vector<float>{4, 5, 3}));
  EXPECT_EQ(combined(rows, kFloat32, kMinimum), (std::vector<float>{0.5, -2, -6}));
}

// Kernels process sixteen bytes at a time. Tests lengths with a rest, and memory that is not aligned to them.
template <class T>
void expect_sums_at_all_places(int dtype) {
  for (const std::size_t count : {1u, 16u, 37u, 3001u}) {
    std::vector<T> numbers(count + 16);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i % 50);
    const SharedAllocation memory = allocate_with(0, numbers);
    for (const auto& [first, second, to] : std::vector<std::array<std::size_t, 3>>{{0, 0, 0}, {16, 0, 0}, {1, 0, 0}, {0, 3, 0}, {0, 0, 1}}) {
      const SharedAllocation into = allocate_with(0, std::vector<T>(count + 16, 99));
      EXPECT_FALSE(run(combine(gpus(), {into, to * sizeof(T)}, {{memory, first * sizeof(T)}, {memory, second * sizeof(T)}}, dtype, kSum, count)));
      const std::vector<T> found = values_of<T>(into);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool is_written = i >= to && i < to + count;
        const T sum = is_written ? static_cast<T>(numbers[first + i - to] + numbers[second + i - to]) : T(99);
        ASSERT_EQ(found[i], sum) << count << " elements, element " << i;
      }
    }
  }
}

TEST(CombineKernel, addsAtAnyAlignmentAndLength) {
  expect_sums_at_all_places<std::int8_t>(kInt8);
  expect_sums_at_all_places<int>(kInt32);
  expect_sums_at_all_places<float>(kFloat32);
  expect_sums_at_all_places<double>(kFloat64);
}

TEST(CombineKernel, integersWrapAround) {
  EXPECT_EQ(combined<std::int8_t>({{100, -128}, {100, -1}}, kInt8, kSum), (std::vector<std::int8_t>{-56, 127}));
  EXPECT_EQ(combined<std::int64_t>({{std::numeric_limits<std::int64_t>::max()}, {1}}, kInt64, kSum)[0], std::numeric_limits<std::int64_t>::min());
}

TEST(CombineKernel, halfTypesAreRoundedOnce) {
  // 2048 + 1 + 1 is 2050; with a rounding after each step it stays 2048.
  const std::uint16_t big = narrowed_to(Float16(), 2048.0f).bits;
  const std::uint16_t one = narrowed_to(Float16(), 1.0f).bits;
  EXPECT_EQ(combined<std::uint16_t>({{big}, {one}, {one}}, kFloat16, kSum)[0], narrowed_to(Float16(), 2050.0f).bits);
}

TEST(CombineKernel, keepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(combined<float>({{nan}, {1}}, kFloat32, kMaximum)[0]));
  EXPECT_TRUE(std::isnan(combined<float>({{1}, {nan}}, kFloat32, kMinimum)[0]));
}

TEST(CombineKernel, ordersMinusZeroBelowZero) {
  for (const std::vector<std::vector<double>>& rows : {std::vector<std::vector<double>>{{0.0}, {-0.0}}, {{-0.0}, {0.0}}}) {
    EXPECT_FALSE(std::signbit(combined(rows, kFloat64, kMaximum)[0]));
    EXPECT_TRUE(std::signbit(combined(rows, kFloat64, kMinimum)[0]));
  }
}

TEST(CombineKernel, acceptsAtMostSixtyFourInputs) {
  const std::vector<std::vector<int>> rows(64, {1, 2});
  EXPECT_EQ(combined(rows, kInt32, kSum), (std::vector<int>{64, 128}));
  const SharedAllocation into = allocate(0, 8);
  EXPECT_THROW(combine(gpus(), {into, 0}, std::vector<DeviceAddress>(65, {into, 0}), kInt32, kSum, 2), Error);
}

template <class Into, class From>
std::vector<Into> divided(const std::vector<From>& values, int into_dtype, int from_dtype, double divisor) {
  const SharedAllocation from = allocate_with(0, values);
  const SharedAllocation into = allocate(0, values.size() * sizeof(Into));
  EXPECT_FALSE(run(divide(gpus(), {into, 0}, into_dtype, {from, 0}, from_dtype, values.size(), divisor)));
  return values_of<Into>(into);
}

TEST(DivideKernel, roundsOnce) {
  EXPECT_EQ((divided<float, float>({1, 2, 10}, kFloat32, kFloat32, 3)), (std::vector<float>{1.0f / 3, 2.0f / 3, 10.0f / 3}));
  EXPECT_EQ((divided<double, double>({1}, kFloat64, kFloat64, 3)), (std::vector<double>{1.0 / 3}));
  const std::uint16_t one = narrowed_to(BFloat16(), 1.0f).bits;
  EXPECT_EQ((divided<std::uint16_t, std::uint16_t>({one}, kBFloat16, kBFloat16, 3)[0]), narrowed_to(BFloat16(), 1.0f / 3).bits);
}

TEST(DivideKernel, integersBecomeFloats) {
  EXPECT_EQ((divided<double, int>({7, -7}, kFloat64, kInt32, 2)), (std::vector<double>{3.5, -3.5}));
  EXPECT_EQ((divided<float, std::int64_t>({1, -9}, kFloat32, kInt64, 4)), (std::vector<float>{0.25, -2.25}));
  const SharedAllocation memory = allocate(0, 8);
  EXPECT_THROW(divide(gpus(), {memory, 0}, kInt32, {memory, 0}, kInt32, 2, 2), Error);
}

// Kernels process sixteen bytes at a time. Tests lengths with a rest, memory that is not aligned to them, and conversions in place.
template <class Into, class From>
void expect_quotients_at_all_places(int into_dtype, int from_dtype) {
  constexpr std::size_t kMargin = 16;
  for (const std::size_t count : {1u, 16u, 37u, 3001u}) {
    std::vector<From> numbers(count + kMargin);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<From>(i % 100);
    for (const auto& [at, to] : std::vector<std::array<std::size_t, 2>>{{0, 0}, {16, 16}, {1, 0}, {0, 1}, {3, 3}}) {
      const SharedAllocation from = allocate_with(0, numbers);
      const SharedAllocation into = allocate_with(0, std::vector<Into>(count + kMargin, 99));
      EXPECT_FALSE(run(divide(gpus(), {into, to * sizeof(Into)}, into_dtype, {from, at * sizeof(From)}, from_dtype, count, 8)));
      const std::vector<Into> found = values_of<Into>(into);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool is_written = i >= to && i < to + count;
        ASSERT_EQ(found[i], is_written ? static_cast<Into>(numbers[at + i - to]) / 8 : Into(99)) << count << " elements, element " << i;
      }
      if (into_dtype != from_dtype) continue;
      EXPECT_FALSE(run(divide(gpus(), {from, at * sizeof(From)}, from_dtype, {from, at * sizeof(From)}, from_dtype, count, 8)));
      const std::vector<From> in_place = values_of<From>(from);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(in_place[at + i], numbers[at + i] / 8);
    }
  }
}

TEST(DivideKernel, dividesAtAnyAlignmentAndLength) {
  expect_quotients_at_all_places<float, float>(kFloat32, kFloat32);
  expect_quotients_at_all_places<double, double>(kFloat64, kFloat64);
  expect_quotients_at_all_places<float, std::int8_t>(kFloat32, kInt8);
  expect_quotients_at_all_places<double, std::int8_t>(kFloat64, kInt8);
  expect_quotients_at_all_places<double, int>(kFloat64, kInt32);
  expect_quotients_at_all_places<float, std::int64_t>(kFloat32, kInt64);
}

TEST(CopyKernel, packsAndUnpacksPiecesOfAllSizesAndAlignments) {
  std::vector<unsigned char> values(300000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned char>(i * 7 + i / 251);
  const SharedAllocation from = allocate_with(0, values);
  // Tests the number of pieces that fit into a launch, one more, and many more.
  for (const std::size_t small_pieces : {0u, 163u, 164u, 1000u}) {
    const SharedAllocation into = allocate(0, values.size());
    EXPECT_FALSE(run(fill_buffer(gpus(), {into, 0}, values.size(), {0})));
    std::vector<PieceCopy> pieces;
    std::vector<unsigned char> expected(values.size(), 0);
    std::size_t to = 0;
    std::vector<std::pair<std::size_t, std::size_t>> ranges = {{0, 16}, {16, 0}, {3, 5}, {64, 150000}, {150065, 33}, {160000, 70001}};
    for (std::size_t i = 0; i < small_pieces; ++i) ranges.push_back({i * 61, i % 70 + 1});
    for (const auto& [at, bytes] : ranges) {
      pieces.push_back({{into, to}, {from, at}, bytes});
      std::memcpy(expected.data() + to, values.data() + at, bytes);
      to += bytes;
    }
    EXPECT_FALSE(run(copy_pieces(gpus(), pieces)));
    EXPECT_EQ(values_of<unsigned char>(into), expected) << small_pieces;
  }
  EXPECT_FALSE(run(copy_pieces(gpus(), {{{from, 0}, {from, 0}, 0}})));
}

void run_slow_compiler() {
  gpus().scheduler.configure(std::chrono::seconds(200), std::chrono::milliseconds(50));
  const Wish wish("slow module 400");
  const std::shared_ptr<Clique> aborted = new_clique(gpus(), {1, {0}, {0}, "aborted", true});
  Outcome opened = submit(open_clique(gpus(), aborted, nccl::UniqueId{}));
  while (!aborted->is_launching) std::this_thread::yield();
  // The launch is compiling kernels. An abort must not treat this as a call that is stuck.
  gpus().scheduler.fail_clique(*aborted, {FailureKind::kAborted, 0, "enough"});
  expect_kind(opened.get(), FailureKind::kAborted);
  const SharedAllocation numbers = allocate(0, 16);
  const auto filled = run(within(fill_buffer(gpus(), {numbers, 0}, 16, {0}), 200));
  EXPECT_FALSE(filled) << filled->message;
  const auto divided = run(within(divide(gpus(), {numbers, 0}, kFloat32, {numbers, 0}, kFloat32, 4, 2), 200));
  EXPECT_FALSE(divided) << divided->message;
}

// Runs in a process of its own, in which no GPU has been used yet.
TEST(CompilerDeathTest, compilationOfKernelsDoesNotCountTowardsADeadline) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto scenario = [] {
    run_slow_compiler();
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace coll::test
