#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../kernels/fold_with.h"
#include "../kernels/simd.h"
#include "kernel_reference.h"

namespace coll {
namespace {

constexpr std::size_t kPatterns = 0x10000;

struct Half {
  DType dtype;
  double (*decode)(std::uint16_t);
  std::uint16_t (*encode)(double);
};

constexpr Half kHalves[] = {
    {DType::kFloat16, reference::decode_float16, reference::encode_float16},
    {DType::kBfloat16, reference::decode_bfloat16, reference::encode_bfloat16},
};

bool are_same(std::uint16_t a, std::uint16_t b, const Half& half) {
  return a == b || (std::isnan(half.decode(a)) && std::isnan(half.decode(b)));
}

class HalfTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = find_kernels(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "not for this processor";
  }

  const Kernels* kernels_ = nullptr;
};

TEST_P(HalfTest, DecodesEveryPattern) {
  std::vector<std::uint16_t> patterns;
  for (std::size_t i = 0; i < kPatterns; ++i) patterns.push_back(static_cast<std::uint16_t>(i));
  for (const Half& half : kHalves) {
    std::vector<float> values(kPatterns);
    widen_with(*kernels_, half.dtype, Op::kSum, values.data(), patterns.data(), kPatterns);
    for (std::size_t i = 0; i < kPatterns; ++i) {
      const double expected = half.decode(patterns[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(values[i])) << i;
      } else {
        ASSERT_EQ(values[i], expected) << i;
        ASSERT_EQ(std::signbit(values[i]), std::signbit(expected)) << i;
      }
    }
  }
}

// Every value of the format, the ties between it and the next, and the float32 on both sides of those.
std::vector<float> values_around(const Half& half) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values;
  for (std::size_t i = 0; i < kPatterns; ++i) {
    const double value = half.decode(static_cast<std::uint16_t>(i));
    const double next = half.decode(static_cast<std::uint16_t>(i + 1));
    const auto middle = static_cast<float>((value + next) / 2);
    for (const float center : {static_cast<float>(value), middle}) {
      values.insert(values.end(), {center, std::nextafter(center, kInfinity), std::nextafter(center, -kInfinity)});
    }
  }
  for (const float odd : {65519.99f, 65520.0f, 65536.0f, 3.4e38f, 1e-45f, 0.0f, kInfinity}) {
    values.insert(values.end(), {odd, -odd});
  }
  return values;
}

TEST_P(HalfTest, RoundsToNearestEven) {
  for (const Half& half : kHalves) {
    const std::vector<float> values = values_around(half);
    std::vector<std::uint16_t> patterns(values.size());
    finish_with(*kernels_, half.dtype, Op::kSum, 1, patterns.data(), values.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(are_same(patterns[i], half.encode(values[i]), half))
          << reference::name_of(half.dtype) << ' ' << values[i];
    }
  }
}

TEST_P(HalfTest, KeepsEveryNaN) {
  std::vector<float> values;
  for (const std::uint32_t payload : {0x1u, 0x1000u, 0x1fffu, 0x2000u, 0xffffu, 0x10000u, 0x400000u, 0x7fffffu}) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const std::uint32_t bits = sign | 0x7f800000u | payload;
      values.emplace_back();
      std::memcpy(&values.back(), &bits, sizeof bits);
    }
  }
  // Repeats the values until they fill more than one vector register.
  for (int doubling = 0; doubling < 3; ++doubling) values.insert(values.end(), values.begin(), values.end());
  for (const Half& half : kHalves) {
    std::vector<std::uint16_t> patterns(values.size());
    finish_with(*kernels_, half.dtype, Op::kSum, 1, patterns.data(), values.data(), values.size());
    for (const std::uint16_t pattern : patterns) EXPECT_TRUE(std::isnan(half.decode(pattern))) << pattern;
  }
}

TEST_P(HalfTest, RoundsOnceAfterTheLastInput) {
  // If sums were rounded to float16 or bfloat16, each 0.25 would be lost.
  const std::vector<double> numbers = {2048, 0.25, 0.25, 0.25, 0.25, 1, 1, 1, 1, 1, 1, 1};
  for (const Half& half : kHalves) {
    for (const std::size_t count : {1, 40}) {
      std::vector<std::vector<std::uint16_t>> inputs;
      std::vector<const void*> from;
      for (const double number : numbers) inputs.emplace_back(count, half.encode(number));
      for (const auto& input : inputs) from.push_back(input.data());
      std::vector<std::uint16_t> sum(count);
      void* const into = sum.data();
      fold_with(*kernels_, {half.dtype, Op::kSum, 1, from.data(), static_cast<int>(from.size()), &into, 1}, 0, count);
      EXPECT_EQ(sum, std::vector<std::uint16_t>(count, half.encode(2056)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, HalfTest, testing::Values("scalar", "avx2", "avx512", "neon"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coll
