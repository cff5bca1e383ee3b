#include <tuple>

#include "../libraries/machine.h"
#include "gpus.h"

namespace coll::test {
namespace {

std::string refusal_of_driver(const std::string& file) {
  try {
    cuda::open_driver(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.failure().kind, FailureKind::kNoLibrary);
    return error.what();
  }
  return "";
}

TEST(Libraries, aMissingDriverIsReportedInOneSentence) { EXPECT_NE(refusal_of_driver("/nowhere/libcuda.so.1").find("cannot open the CUDA driver library"), std::string::npos); }

TEST(Libraries, everyFailureToStartSaysWhatToDo) {
  const std::pair<int, const char*> refusals[] = {{34, "stub"}, {100, "CUDA_VISIBLE_DEVICES"}, {802, "fabric manager"}, {803, "differ in version"}, {804, "compatibility package"}, {999, "failed to start"}};
  for (const auto& [result, words] : refusals) {
    const Wish wish("fail cuInit " + std::to_string(result));
    EXPECT_NE(refusal_of_driver(COLL_CUDA_DOUBLE).find(words), std::string::npos) << result;
  }
}

TEST(Libraries, theErrorOfAnOldDriverNamesTheRequiredVersion) {
  setenv("COLL_DOUBLE_CUDA_VERSION", "11080", 1);
  EXPECT_EQ(refusal_of_driver(COLL_CUDA_DOUBLE), "the NVIDIA driver supports CUDA 11.8; 12.0 or newer is needed");
  unsetenv("COLL_DOUBLE_CUDA_VERSION");
}

TEST(Libraries, anotherLibraryIsNotADriver) { EXPECT_EQ(refusal_of_driver("libm.so.6"), "libm.so.6 is not a CUDA driver: it has no cuInit"); }

TEST(Libraries, theErrorOfAnOldNcclNamesTheRequiredVersion) {
  setenv("COLL_DOUBLE_NCCL_VERSION", "21703", 1);
  try {
    nccl::open_nccl({COLL_NCCL_DOUBLE, ""});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("NCCL 2.17.3"), std::string::npos);
  }
  unsetenv("COLL_DOUBLE_NCCL_VERSION");
}

TEST(Libraries, groupsAreNamedIfNcclSupportsNames) {
  nccl::Nccl nccl;
  for (const auto& [version, bytes, has_name] : {std::tuple{21801, 48u, false}, {22699, 48u, false}, {22700, 72u, true}, {23007, 72u, true}}) {
    nccl.version = version;
    const nccl::Config config = nccl.config_for("world/0", false);
    EXPECT_EQ(config.size, bytes) << version;
    EXPECT_EQ(config.version, has_name ? 22700u : 21800u);
    EXPECT_EQ(config.name == nullptr ? "" : std::string(config.name), has_name ? "world/0" : "");
    EXPECT_EQ(config.blocking, 0);
  }
}

TEST(Libraries, theErrorWithoutNvmlSaysWhatToDo) {
  EXPECT_NO_THROW(nccl::require_nvml(COLL_NVML_DOUBLE));
  try {
    nccl::require_nvml("/nowhere/libnvidia-ml.so.1");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("NCCL needs NVML, and libnvidia-ml.so.1 cannot be opened (/nowhere/libnvidia-ml.so.1: cannot open shared object file"), 0u);
    EXPECT_NE(std::string(error.what()).find("NVIDIA_DRIVER_CAPABILITIES=compute,utility"), std::string::npos);
  }
}

TEST(Libraries, theSearchDoesNotFindDoubles) {
  EXPECT_THROW(nccl::open_nccl({}), Error);
  EXPECT_TRUE(gpus().driver.library.is_double);
  EXPECT_TRUE(gpus().nccl().library.is_double);
}

}  // namespace
}  // namespace coll::test
