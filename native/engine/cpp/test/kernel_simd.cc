#include <gtest/gtest.h>

#include <string>

#include "../error.h"
#include "../kernels/fold.h"
#include "../kernels/simd.h"

namespace coll {
namespace {

TEST(Simd, HasKernelsForEveryProcessor) {
  EXPECT_NE(find_kernels(baseline_kernels()->name), nullptr);
  EXPECT_EQ(find_kernels("abacus"), nullptr);
}

TEST(Simd, ChoosesTheRequestedKernels) {
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    if (find_kernels(name) == nullptr) continue;
    EXPECT_STREQ(choose_kernels(name).name, name);
  }
}

TEST(Simd, ChoosesTheWidestKernelsByDefault) {
  EXPECT_EQ(&choose_kernels(nullptr), &choose_kernels(""));
  const char* const widest = find_kernels("avx512") != nullptr ? "avx512" : choose_kernels(nullptr).name;
  EXPECT_STREQ(choose_kernels(nullptr).name, widest);
}

TEST(Simd, ListsTheAvailableKernelsInErrors) {
  try {
    choose_kernels("abacus");
    FAIL() << "took unknown kernels";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("abacus"), std::string::npos) << message;
    EXPECT_NE(message.find(baseline_kernels()->name), std::string::npos) << message;
  }
}

TEST(Simd, ReturnsTheNameOfTheKernelsInUse) { EXPECT_STREQ(simd_name(), chosen_kernels().name); }

}  // namespace
}  // namespace coll
