#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../kernels/fold_with.h"
#include "../kernels/simd.h"

namespace coll {
namespace {

// Results for two numbers, at every place of a vector and after its end.
class ExtremesTest : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::size_t kCount = 75;

  void SetUp() override {
    kernels_ = find_kernels(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "not for this processor";
  }

  template <class T>
  T combined(DType dtype, Op op, T a, T b) const {
    const std::vector<T> left(kCount, a);
    const std::vector<T> right(kCount, b);
    std::vector<T> results(kCount);
    const void* const inputs[] = {left.data(), right.data()};
    void* const output = results.data();
    fold_with(*kernels_, {dtype, op, 2, inputs, 2, &output, 1}, 0, kCount);
    for (const T result : results) EXPECT_TRUE(result == results[0] || (result != result && results[0] != results[0]));
    return results.back();
  }

  template <class T>
  void check_floats(DType dtype) const {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const T infinity = std::numeric_limits<T>::infinity();
    for (const Op op : {Op::kMin, Op::kMax}) {
      const bool is_min = op == Op::kMin;
      EXPECT_EQ(std::signbit(combined<T>(dtype, op, 0, -T{0})), is_min);
      EXPECT_EQ(std::signbit(combined<T>(dtype, op, -T{0}, 0)), is_min);
      EXPECT_TRUE(std::signbit(combined<T>(dtype, op, -T{0}, -T{0})));
      EXPECT_FALSE(std::signbit(combined<T>(dtype, op, 0, 0)));
      EXPECT_EQ(combined<T>(dtype, op, infinity, -infinity), is_min ? -infinity : infinity);
      for (const T other : {T{1}, T{0}, infinity, -infinity, nan}) {
        EXPECT_TRUE(std::isnan(combined<T>(dtype, op, nan, other)));
        EXPECT_TRUE(std::isnan(combined<T>(dtype, op, other, nan)));
        EXPECT_TRUE(std::isnan(combined<T>(dtype, op, -nan, other)));
      }
    }
    EXPECT_TRUE(std::isnan(combined<T>(dtype, Op::kSum, infinity, -infinity)));
    const T least = std::numeric_limits<T>::denorm_min();
    EXPECT_EQ(combined<T>(dtype, Op::kMean, least, 0), T{0});
    EXPECT_EQ(combined<T>(dtype, Op::kSum, least, 0), least);
  }

  template <class T>
  void check_integers(DType dtype) const {
    constexpr T kLeast = std::numeric_limits<T>::min();
    constexpr T kMost = std::numeric_limits<T>::max();
    EXPECT_EQ(combined<T>(dtype, Op::kSum, kMost, 1), kLeast);
    EXPECT_EQ(combined<T>(dtype, Op::kProduct, kMost, kMost), T{1});
    EXPECT_EQ(combined<T>(dtype, Op::kProduct, kLeast, 2), T{0});
    EXPECT_EQ(combined<T>(dtype, Op::kMin, kMost, kLeast), kLeast);
    EXPECT_EQ(combined<T>(dtype, Op::kMax, kMost, kLeast), kMost);
  }

  template <class Result, class T>
  void check_mean(DType dtype, T a, T b, Result mean) const {
    const std::vector<T> left(kCount, a);
    const std::vector<T> right(kCount, b);
    std::vector<Result> results(kCount);
    const void* const inputs[] = {left.data(), right.data()};
    void* const output = results.data();
    fold_with(*kernels_, {dtype, Op::kMean, 2, inputs, 2, &output, 1}, 0, kCount);
    EXPECT_EQ(results, std::vector<Result>(kCount, mean));
  }

  const Kernels* kernels_ = nullptr;
};

TEST_P(ExtremesTest, KeepsNaNAndOrdersZeros) {
  check_floats<float>(DType::kFloat32);
  check_floats<double>(DType::kFloat64);
}

TEST_P(ExtremesTest, WrapsIntegersAround) {
  check_integers<std::int8_t>(DType::kInt8);
  check_integers<std::int16_t>(DType::kInt16);
  check_integers<std::int32_t>(DType::kInt32);
  check_integers<std::int64_t>(DType::kInt64);
  check_integers<std::uint8_t>(DType::kUint8);
  check_integers<std::uint16_t>(DType::kUint16);
  check_integers<std::uint32_t>(DType::kUint32);
  check_integers<std::uint64_t>(DType::kUint64);
}

TEST_P(ExtremesTest, TreatsAnyNonZeroByteAsTrue) {
  const auto both = [&](Op op, int a, int b) {
    const auto left = static_cast<std::uint8_t>(a);
    const auto right = static_cast<std::uint8_t>(b);
    return static_cast<int>(combined(DType::kBool, op, left, right));
  };
  for (const Op op : {Op::kSum, Op::kMax}) {
    EXPECT_EQ(both(op, 2, 0), 1);
    EXPECT_EQ(both(op, 0, 255), 1);
    EXPECT_EQ(both(op, 0, 0), 0);
  }
  for (const Op op : {Op::kProduct, Op::kMin}) {
    EXPECT_EQ(both(op, 2, 1), 1);
    EXPECT_EQ(both(op, 2, 0), 0);
    EXPECT_EQ(both(op, 0, 255), 0);
  }
}

TEST_P(ExtremesTest, DoesNotWrapTheSumsOfMeans) {
  check_mean<float>(DType::kInt8, std::int8_t{127}, std::int8_t{127}, 127);
  check_mean<float>(DType::kUint8, std::uint8_t{200}, std::uint8_t{100}, 150);
  check_mean<float>(DType::kInt16, std::int16_t{-32768}, std::int16_t{-32768}, -32768);
  check_mean<float>(DType::kUint16, std::uint16_t{65535}, std::uint16_t{1}, 32768);
  check_mean<double>(DType::kInt32, 1 << 30, 1 << 30, 1 << 30);
  check_mean<double>(DType::kUint32, 0xffffffffu, 0xfffffffeu, 4294967294.5);
  check_mean<double>(DType::kInt64, std::int64_t{1} << 62, std::int64_t{1} << 62, 0x1p62);
  check_mean<double>(DType::kUint64, std::uint64_t{1} << 63, std::uint64_t{1} << 63, 0x1p63);
  // 2^53 + 1 is not a double: it is rounded to even before the addition.
  check_mean<double>(DType::kInt64, (std::int64_t{1} << 53) + 1, std::int64_t{2}, 4503599627370497.0);
}

// Ranks that each combine the same few inputs into outputs of their own.
TEST_P(ExtremesTest, ReturnsTheSameNaNForShortResultsAtAnyAddress) {
  constexpr std::size_t kFew = 110;
  for (const int input_count : {2, 8}) {
    std::vector<std::vector<std::uint32_t>> values;
    std::vector<const void*> inputs;
    for (int k = 0; k < input_count; ++k) values.emplace_back(kFew, 0x7fc00000u + static_cast<std::uint32_t>(k));
    for (const auto& input : values) inputs.push_back(input.data());
    std::vector<std::vector<std::uint32_t>> results;
    for (std::size_t shift = 0; shift < 16; ++shift) {
      std::vector<std::uint32_t> memory(kFew + 16);
      void* const output = memory.data() + shift;
      fold_with(*kernels_, {DType::kFloat32, Op::kProduct, 2, inputs.data(), input_count, &output, 1}, 0, kFew);
      results.emplace_back(memory.begin() + static_cast<std::ptrdiff_t>(shift), memory.begin() + static_cast<std::ptrdiff_t>(shift + kFew));
    }
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ExtremesTest, testing::Values("scalar", "avx2", "avx512", "neon"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coll
