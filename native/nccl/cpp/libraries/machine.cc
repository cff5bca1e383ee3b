#include "machine.h"

#include <sys/statvfs.h>

#include <cstdio>

#include "../error.h"
#include "../../../engine/cpp/linux/dynamic_linking.h"

namespace coll::nccl {
namespace {

constexpr const char* kNvml = "libnvidia-ml.so.1";
constexpr const char* kSharedMemory = "/dev/shm";

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string advice_for_nvml(const std::string& said) {
  return std::string("NCCL needs NVML, and ") + kNvml + " cannot be opened (" + said +
         "): give the container the utilities of the driver (NVIDIA_DRIVER_CAPABILITIES=compute,utility), or set COLL_NVML_LIBRARY to the file";
}

std::string room_in_shared_memory() {
  struct statvfs found {};
  if (statvfs(kSharedMemory, &found) != 0) return std::string("there is no ") + kSharedMemory;
  const double block = static_cast<double>(found.f_frsize) / (1 << 20);
  char text[80];
  std::snprintf(text, sizeof text, "%s has %.0f MiB, of which %.0f are free", kSharedMemory, static_cast<double>(found.f_blocks) * block,
                static_cast<double>(found.f_bavail) * block);
  return text;
}

}  // namespace

void require_nvml(const std::string& file) {
  const char* const name = file.empty() ? kNvml : file.c_str();
  if (dlopen(name, RTLD_NOW | RTLD_LOCAL) != nullptr) return;
  const char* const said = dlerror();
  throw Error(FailureKind::kNoLibrary, advice_for_nvml(said != nullptr ? said : name));
}

std::string advice_for_machine(const std::string& said) {
  if (has(said, kNvml)) return advice_for_nvml(said);
  // NCCL creates segments of some MiB for each rank; Docker's default is 64 MiB in all.
  if (!has(said, kSharedMemory) || has(said, "attaching")) return "";
  return std::string(kSharedMemory) + " is too small for NCCL: " + room_in_shared_memory() +
         "; start the container with --shm-size=1g or --ipc=host (Kubernetes: mount an emptyDir with medium Memory there), or set NCCL_SHM_DISABLE=1";
}

}  // namespace coll::nccl
