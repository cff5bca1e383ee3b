#include "../reductions/reductions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../../../engine/cpp/kernels/half.h"

namespace coll::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Calls the reduction as MPI does: inout[i] = in[i] op inout[i].
template <class T>
std::vector<T> reduced(Reduction reduction, std::vector<T> in, std::vector<T> inout) {
  int count = static_cast<int>(in.size());
  reduction(in.data(), inout.data(), &count, nullptr);
  return inout;
}

// The results for a length that fills vectors and leaves a rest.
template <class T>
void expect_like(DType dtype, Op op, T (*expected)(T, T), const std::vector<T>& values) {
  std::vector<T> in, inout, wanted;
  for (const T a : values) {
    for (const T b : values) {
      in.push_back(a);
      inout.push_back(b);
      wanted.push_back(expected(a, b));
    }
  }
  const Reduction own = own_reduction(dtype, op);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(reduced(own, in, inout), wanted);
}

template <class T>
std::vector<T> ends_of() {
  using Limits = std::numeric_limits<T>;
  return {Limits::min(), static_cast<T>(Limits::min() + 1), 0, 1, 5, 100, static_cast<T>(Limits::max() - 1), Limits::max()};
}

template <class T>
void expect_extremes(DType dtype) {
  expect_like<T>(dtype, Op::kMin, [](T a, T b) { return a < b ? a : b; }, ends_of<T>());
  expect_like<T>(dtype, Op::kMax, [](T a, T b) { return a > b ? a : b; }, ends_of<T>());
}

template <class T>
void expect_wrapping(DType dtype) {
  expect_like<T>(dtype, Op::kSum, [](T a, T b) { return static_cast<T>(a + b); }, ends_of<T>());
  expect_like<T>(dtype, Op::kProduct, [](T a, T b) { return static_cast<T>(a * b); }, ends_of<T>());
}

TEST(Reductions, minimaAndMaximaOfIntegersUseTheirOwnSign) {
  expect_extremes<std::int8_t>(DType::kInt8);
  expect_extremes<std::int16_t>(DType::kInt16);
  expect_extremes<std::int32_t>(DType::kInt32);
  expect_extremes<std::int64_t>(DType::kInt64);
  expect_extremes<std::uint8_t>(DType::kUint8);
  expect_extremes<std::uint16_t>(DType::kUint16);
  expect_extremes<std::uint32_t>(DType::kUint32);
  expect_extremes<std::uint64_t>(DType::kUint64);
}

TEST(Reductions, sumsAndProductsOfShortIntegersWrapAround) {
  expect_wrapping<std::int8_t>(DType::kInt8);
  expect_wrapping<std::int16_t>(DType::kInt16);
  expect_wrapping<std::uint8_t>(DType::kUint8);
  expect_wrapping<std::uint16_t>(DType::kUint16);
}

TEST(Reductions, longIntegersAndFloatsAreLeftToMpi) {
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64, DType::kFloat32, DType::kFloat64}) {
    EXPECT_EQ(own_reduction(dtype, Op::kSum), nullptr);
    EXPECT_EQ(own_reduction(dtype, Op::kProduct), nullptr);
  }
}

TEST(Reductions, boolsAreOrForSumAndMaximumAndAndForTheOthers) {
  using Bools = std::vector<std::uint8_t>;
  for (const Op op : {Op::kSum, Op::kMax}) EXPECT_EQ(reduced(own_reduction(DType::kBool, op), Bools{0, 0, 2, 7}, Bools{0, 3, 0, 7}), (Bools{0, 1, 1, 1}));
  for (const Op op : {Op::kMin, Op::kProduct}) EXPECT_EQ(reduced(own_reduction(DType::kBool, op), Bools{0, 0, 2, 7}, Bools{0, 3, 0, 8}), (Bools{0, 0, 0, 1}));
}

template <class T>
void expect_floats_with_nan(DType dtype) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> in = {1, -nan, 2, T(-0.0), T(0.0), 3};
  const std::vector<T> inout = {2, 1, nan, T(0.0), T(-0.0), 3};
  const std::vector<T> least = reduced(own_reduction(dtype, Op::kMin), in, inout);
  const std::vector<T> most = reduced(own_reduction(dtype, Op::kMax), in, inout);
  EXPECT_EQ(least[0], 1);
  EXPECT_EQ(most[0], 2);
  for (const std::vector<T>& extremes : {least, most}) {
    for (const int i : {1, 2}) {
      EXPECT_TRUE(std::isnan(extremes[static_cast<std::size_t>(i)]));
      // Expects the same NaN on all ranks, whichever operand it came from.
      EXPECT_FALSE(std::signbit(extremes[static_cast<std::size_t>(i)]));
    }
    EXPECT_EQ(extremes[5], 3);
  }
  EXPECT_TRUE(std::signbit(least[3]) && std::signbit(least[4]));
  EXPECT_FALSE(std::signbit(most[3]) || std::signbit(most[4]));
}

TEST(Reductions, extremesOfFloatsPropagateNanAndOrderZeros) {
  expect_floats_with_nan<float>(DType::kFloat32);
  expect_floats_with_nan<double>(DType::kFloat64);
}

TEST(Reductions, sumsOfFewFloatsHaveOneNan) {
  for (const Op op : {Op::kSum, Op::kProduct}) {
    const auto results = reduced<float>(one_nan_reduction(DType::kFloat32, op), {-kNan, 1, 2}, {1, -kNan, 3});
    EXPECT_TRUE(std::isnan(results[0]) && !std::signbit(results[0]));
    EXPECT_TRUE(std::isnan(results[1]) && !std::signbit(results[1]));
    EXPECT_EQ(results[2], op == Op::kSum ? 5 : 6);
  }
  EXPECT_EQ(one_nan_reduction(DType::kInt32, Op::kSum), nullptr);
}

using Halves = std::vector<std::uint16_t>;

TEST(Reductions, halfTypesAreCombinedInFloat32AndRoundedEachTime) {
  const auto half = [](float value) { return float_to_float16(value); };
  EXPECT_EQ(reduced(own_reduction(DType::kFloat16, Op::kSum), Halves{half(2048), half(1.5f)}, Halves{half(1), half(0.25f)}), (Halves{half(2048), half(1.75f)}));
  EXPECT_EQ(reduced(own_reduction(DType::kFloat16, Op::kProduct), Halves{half(300)}, Halves{half(300)}), (Halves{half(INFINITY)}));
  const auto brain = [](float value) { return float_to_bfloat16(value); };
  EXPECT_EQ(reduced(own_reduction(DType::kBfloat16, Op::kSum), Halves{brain(256)}, Halves{brain(1)}), (Halves{brain(256)}));
  EXPECT_EQ(reduced(own_reduction(DType::kBfloat16, Op::kMax), Halves{brain(-2)}, Halves{brain(3)}), (Halves{brain(3)}));
}

TEST(Reductions, halfTypesHaveOneNan) {
  for (const Op op : {Op::kSum, Op::kMin, Op::kMax, Op::kProduct}) {
    EXPECT_EQ(reduced(own_reduction(DType::kFloat16, op), Halves{0xfe01}, Halves{0x3c00}), (Halves{0x7e00}));
    EXPECT_EQ(reduced(own_reduction(DType::kBfloat16, op), Halves{0x3f80}, Halves{0xffc1}), (Halves{0x7fc0}));
  }
}

TEST(Reductions, integersOfMeansBecomeFloats) {
  const std::vector<std::int16_t> shorts = {7, -7, 0};
  std::vector<float> wide(3);
  widen(DType::kInt16, wide.data(), shorts.data(), 3);
  EXPECT_EQ(wide, (std::vector<float>{7, -7, 0}));
  const std::vector<std::uint64_t> big = {std::uint64_t{1} << 63, (std::uint64_t{1} << 53) + 1};
  std::vector<double> doubles(2);
  widen(DType::kUint64, doubles.data(), big.data(), 2);
  EXPECT_EQ(doubles, (std::vector<double>{0x1p63, 0x1p53}));
}

TEST(Reductions, floatsAreDivided) {
  std::vector<float> floats = {3, 6};
  divide(DType::kFloat32, floats.data(), floats.data(), 2, 4);
  EXPECT_EQ(floats, (std::vector<float>{0.75f, 1.5f}));
}

TEST(Reductions, halfTypesAreWidenedAndRoundedOnce) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const std::vector<float> values = {0, 1, -2.5f, 100, 0.125f, -0.0f, 31, 64, 96};
    Halves halves(values.size());
    narrow(dtype, halves.data(), values.data(), values.size(), 1);
    std::vector<float> back(values.size());
    widen(dtype, back.data(), halves.data(), halves.size());
    EXPECT_EQ(back, values);
  }
  // The value is divided before it is rounded: the sum is above the largest float16.
  const float sum = 80'000;
  std::uint16_t mean = 0;
  narrow(DType::kFloat16, &mean, &sum, 1, 4);
  EXPECT_EQ(float16_to_float(mean), 20'000);
}

}  // namespace
}  // namespace coll::test
