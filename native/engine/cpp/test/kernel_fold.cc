#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "../error.h"
#include "../kernels/fold_with.h"
#include "../kernels/simd.h"
#include "kernel_reference.h"
#include "test_grid.h"

namespace coll {
namespace {

using reference::Bytes;

constexpr std::size_t kLengths[] = {0,  1,  2,  3,  7,  8,   15,  16,   17,   31,  32,
                                    33, 63, 64, 65, 127, 130, 1000, 2049, 4097, 9001};
constexpr std::size_t kFew = 130;
constexpr std::size_t kMost = 9001;
constexpr int kMostRanks = 20;
constexpr std::byte kUntouched{0xa5};

std::vector<int> numbers_of_inputs() {
  if (test::is_short()) return {1, 2, 3, 5, 9, 17};
  std::vector<int> all(kMostRanks);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

// Memory of one rank, with guard bytes on both sides that detect writes outside.
class Buffer {
 public:
  // Starts `offset` elements after the beginning of a cache line.
  Buffer(std::size_t element_bytes, std::size_t offset, std::size_t count)
      : bytes_(kRoom + (offset + count) * element_bytes + kRoom, kUntouched), size_(count * element_bytes) {
    const auto past_line = reinterpret_cast<std::uintptr_t>(bytes_.data()) % 64;
    start_ = 64 - past_line + offset * element_bytes;
  }

  std::byte* data() { return bytes_.data() + start_; }
  void fill(const Bytes& bytes) { std::memcpy(data(), bytes.data(), std::min(bytes.size(), size_)); }
  bool is_untouched_outside(std::size_t begin, std::size_t end) const {
    const auto is_untouched = [](std::byte byte) { return byte == kUntouched; };
    const auto at = [&](std::size_t index) { return bytes_.begin() + static_cast<std::ptrdiff_t>(index); };
    return std::all_of(bytes_.begin(), at(start_ + begin), is_untouched) &&
           std::all_of(at(start_ + end), bytes_.end(), is_untouched);
  }

 private:
  static constexpr std::size_t kRoom = 128;
  Bytes bytes_;
  std::size_t size_;
  std::size_t start_;
};

struct Case {
  DType dtype;
  Op op;
  int inputs;
  int outputs;
  std::size_t begin;
  std::size_t count;
  bool in_place;
  Write write;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << reference::name_of(c.dtype) << ' ' << reference::name_of(c.op) << ", " << c.inputs << " inputs, "
             << c.outputs << " outputs, " << c.count << " elements from " << c.begin << (c.in_place ? ", in place" : "")
             << (c.write == Write::kStreamed ? ", streamed" : "");
}

// Tests each dtype with each set of kernels, if this processor can run them.
class FoldTest : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  void SetUp() override {
    kernels_ = find_kernels(std::get<0>(GetParam()));
    if (kernels_ == nullptr) GTEST_SKIP() << "not for this processor";
    for (unsigned k = 0; k < kMostRanks; ++k) inputs_.push_back(reference::random_elements(dtype(), kMost, k + 1));
  }

  DType dtype() const { return std::get<1>(GetParam()); }

  const Bytes& expected(Op op, int inputs) {
    Bytes& known = expected_[{op, inputs}];
    if (known.empty()) known = reference::fold(dtype(), op, inputs, inputs_, inputs);
    return known;
  }

  void check(const Case& c) {
    const std::size_t input_bytes = byte_size(c.dtype);
    const std::size_t output_bytes = byte_size(result_of(c.dtype, c.op));
    std::vector<Buffer> inputs;
    std::vector<Buffer> outputs;
    for (int k = 0; k < c.inputs; ++k) {
      inputs.emplace_back(input_bytes, static_cast<std::size_t>(k * 5 % 17), c.begin + c.count);
      inputs.back().fill(inputs_[static_cast<std::size_t>(k)]);
    }
    // Whether cache lines begin at the same elements of all outputs alternates.
    const int step = c.count % 2 == 0 ? 0 : 3;
    for (int k = 0; k < c.outputs; ++k) {
      outputs.emplace_back(output_bytes, static_cast<std::size_t>(1 + k * step % 7), c.begin + c.count);
    }
    std::vector<const void*> from;
    std::vector<void*> to;
    for (Buffer& input : inputs) from.push_back(input.data());
    // The last output is the first input, and so on, so that outputs are written in another order
    // than inputs are read.
    for (int k = 0; k < c.outputs; ++k) {
      const int source = c.outputs - 1 - k;
      const bool is_input = c.in_place && source < c.inputs;
      Buffer& output = is_input ? inputs[static_cast<std::size_t>(source)] : outputs[static_cast<std::size_t>(k)];
      to.push_back(output.data());
    }
    const Fold fold{c.dtype, c.op, c.inputs, from.data(), c.inputs, to.data(), c.outputs, c.write};
    fold_with(*kernels_, fold, c.begin, c.count);
    const std::byte* wanted = expected(c.op, c.inputs).data() + c.begin * output_bytes;
    for (void* output : to) {
      const auto* actual = static_cast<const std::byte*>(output) + c.begin * output_bytes;
      ASSERT_EQ(reference::first_difference(result_of(c.dtype, c.op), actual, wanted, c.count), c.count) << c;
    }
    for (const Buffer& output : outputs) {
      ASSERT_TRUE(output.is_untouched_outside(c.begin * output_bytes, (c.begin + c.count) * output_bytes)) << c;
    }
    for (const Buffer& input : inputs) {
      ASSERT_TRUE(input.is_untouched_outside(0, (c.begin + c.count) * input_bytes)) << c;
    }
  }

  void check_writes(Case c) {
    c.write = Write::kCached;
    check(c);
    c.write = Write::kStreamed;
    check(c);
  }

  void check_ops(Case c) {
    for (const Op op : reference::kOps) {
      if (!reference::is_defined(c.dtype, op)) continue;
      c.op = op;
      // Results of another size cannot replace their inputs.
      if (c.in_place && byte_size(result_of(c.dtype, op)) != byte_size(c.dtype)) continue;
      check_writes(c);
      if (HasFatalFailure()) return;
    }
  }

  const Kernels* kernels_ = nullptr;
  std::vector<Bytes> inputs_;
  std::map<std::pair<Op, int>, Bytes> expected_;
};

TEST_P(FoldTest, CombinesShortRangesOfAnyNumberOfInputs) {
  for (const int inputs : numbers_of_inputs()) {
    for (const std::size_t count : kLengths) {
      if (count > kFew) continue;
      for (const bool in_place : {false, true}) {
        // With many inputs, the loops no longer depend on the number of outputs.
        const int most = inputs <= 4 ? 4 : 1 + inputs % 4;
        for (int outputs = inputs <= 4 ? 1 : most; outputs <= most; ++outputs) {
          check_ops({dtype(), Op::kSum, inputs, outputs, count % 5, count, in_place, Write::kCached});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(FoldTest, CombinesManyElements) {
  for (const int inputs : {1, 2, 3, 5, 8, 9, 15, 16, 20}) {
    for (const std::size_t count : kLengths) {
      if (count <= kFew) continue;
      for (const bool in_place : {false, true}) {
        check_ops({dtype(), Op::kSum, inputs, 1 + inputs % 4, 0, count, in_place, Write::kCached});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(FoldTest, ReturnsTheSameResultsWithPrefetching) {
  constexpr std::size_t kLong = 40'007;
  const std::size_t begin = 3;
  for (const Op op : {Op::kSum, Op::kMean}) {
    if (!reference::is_defined(dtype(), op)) continue;
    const std::size_t output_bytes = byte_size(result_of(dtype(), op));
    const bool can_stay = output_bytes == byte_size(dtype());
    for (const int count : {2, 3, 5, 8, 9}) {
      std::vector<Bytes> inputs;
      for (int k = 0; k < count; ++k) inputs.push_back(reference::random_elements(dtype(), begin + kLong, static_cast<unsigned>(k + 1)));
      // The last output is an input.
      std::vector<Bytes> outputs(static_cast<std::size_t>(count), Bytes((begin + kLong) * output_bytes));
      Bytes expected = outputs[0];
      std::vector<const void*> from;
      std::vector<void*> to;
      for (Bytes& input : inputs) from.push_back(input.data());
      for (Bytes& output : outputs) to.push_back(output.data());
      if (can_stay) to.back() = inputs[0].data();
      void* const alone = expected.data();
      fold_with(*kernels_, {dtype(), op, count, from.data(), count, &alone, 1}, begin, kLong);
      for (const int written : {1, 2, count}) {
        const std::vector<Bytes> before = inputs;
        void* const* const first = to.data() + (count - written);
        fold_with(*kernels_, {dtype(), op, count, from.data(), count, first, written, Write::kCached, true}, begin, kLong);
        for (int k = 0; k < written; ++k) {
          const auto* actual = static_cast<const std::byte*>(first[k]) + begin * output_bytes;
          const std::byte* wanted = expected.data() + begin * output_bytes;
          ASSERT_EQ(reference::first_difference(result_of(dtype(), op), actual, wanted, kLong), kLong) << count << " inputs";
        }
        for (std::size_t k = 0; k < before.size(); ++k) std::memcpy(inputs[k].data(), before[k].data(), before[k].size());
      }
    }
  }
}

TEST_P(FoldTest, ConvertsToAccumulatorsAndBack) {
  const Bytes& elements = inputs_[0];
  for (const Op op : {Op::kSum, Op::kMean}) {
    if (!reference::is_defined(dtype(), op)) continue;
    const DType accumulator = accumulator_of(dtype(), op);
    Bytes wide(kMost * byte_size(accumulator));
    widen_with(*kernels_, dtype(), op, wide.data(), elements.data(), kMost);
    const Bytes expected_wide = reference::widen(dtype(), op, elements);
    EXPECT_EQ(reference::first_difference(accumulator, wide.data(), expected_wide.data(), kMost), kMost);
    for (const int divisor : {1, 2, 3, 4, 7, 64, 100, 65537}) {
      const DType result = result_of(dtype(), op);
      Bytes finished(kMost * byte_size(result));
      finish_with(*kernels_, dtype(), op, divisor, finished.data(), expected_wide.data(), kMost);
      const Bytes expected = reference::finish(dtype(), op, divisor, expected_wide);
      EXPECT_EQ(reference::first_difference(result, finished.data(), expected.data(), kMost), kMost) << divisor;
    }
  }
}

std::string name_of_test(const testing::TestParamInfo<std::tuple<const char*, DType>>& info) {
  return std::string(std::get<0>(info.param)) + "_" + reference::name_of(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Kernels, FoldTest,
                         testing::Combine(testing::Values("scalar", "avx2", "avx512", "neon"),
                                          testing::ValuesIn(reference::all_dtypes())),
                         name_of_test);

TEST(Fold, RefusesTheMeanOfBools) {
  std::uint8_t flag = 1;
  const void* const input = &flag;
  float result = 0;
  void* const output = &result;
  EXPECT_THROW(fold({DType::kBool, Op::kMean, 1, &input, 1, &output, 1}, 0, 1), Error);
  EXPECT_THROW(widen(DType::kBool, Op::kMean, output, input, 1), Error);
}

}  // namespace
}  // namespace coll
