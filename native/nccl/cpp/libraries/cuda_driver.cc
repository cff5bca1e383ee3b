#include "cuda_driver.h"

#include "../../../engine/cpp/linux/dynamic_linking.h"

namespace coll::cuda {
namespace {

constexpr int kOldestVersion = 12000;

std::string in_words(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

// Looks functions up by their exact names. A name with a version suffix always has the same
// meaning.
std::string bind_all(Driver& driver) {
  std::string missing;
  const auto set = [&](const char* name, auto& function) { bind(driver.library, name, function, missing); };
  set("cuInit", driver.init);
  set("cuDriverGetVersion", driver.driver_version);
  set("cuGetErrorName", driver.error_name);
  set("cuGetErrorString", driver.error_string);
  set("cuDeviceGetCount", driver.device_count);
  set("cuDeviceGet", driver.device_get);
  set("cuDeviceGetName", driver.device_name);
  set("cuDeviceGetUuid_v2", driver.device_uuid);
  set("cuDeviceGetPCIBusId", driver.device_bus_id);
  set("cuDeviceGetAttribute", driver.device_attribute);
  set("cuDeviceTotalMem_v2", driver.device_bytes);
  set("cuDeviceCanAccessPeer", driver.can_access_peer);
  set("cuDevicePrimaryCtxRetain", driver.context_retain);
  set("cuCtxSetCurrent", driver.context_set);
  set("cuCtxGetStreamPriorityRange", driver.stream_priorities);
  set("cuStreamCreateWithPriority", driver.stream_create);
  set("cuStreamSynchronize", driver.stream_synchronize);
  set("cuStreamWaitEvent", driver.stream_wait);
  set("cuEventCreate", driver.event_create);
  set("cuEventRecord", driver.event_record);
  set("cuEventQuery", driver.event_query);
  set("cuEventDestroy_v2", driver.event_destroy);
  set("cuMemAllocAsync", driver.allocate);
  set("cuMemFreeAsync", driver.free);
  set("cuMemGetInfo_v2", driver.memory_info);
  set("cuDeviceGetDefaultMemPool", driver.default_pool);
  set("cuMemPoolSetAttribute", driver.set_pool);
  set("cuMemPoolSetAccess", driver.set_pool_access);
  set("cuMemHostAlloc", driver.allocate_host);
  set("cuMemFreeHost", driver.free_host);
  set("cuMemcpyHtoDAsync_v2", driver.copy_up);
  set("cuMemcpyDtoHAsync_v2", driver.copy_down);
  set("cuMemcpyDtoDAsync_v2", driver.copy);
  set("cuMemcpyPeerAsync", driver.copy_peer);
  set("cuMemsetD8Async", driver.fill_bytes);
  set("cuMemsetD32Async", driver.fill_words);
  set("cuPointerGetAttribute", driver.pointer_attribute);
  set("cuMemGetAddressRange_v2", driver.address_range);
  set("cuMemGetAccess", driver.access_of);
  set("cuModuleLoadDataEx", driver.module_load);
  set("cuModuleGetFunction", driver.module_function);
  set("cuLaunchKernel", driver.launch);
  return missing;
}

// Explains to a user why the driver did not start.
std::string sentence_of(Result result) {
  switch (result) {
    case kStub: return "the libcuda.so.1 that was found is a stub for linking, not a driver: remove the folder \"stubs\" from LD_LIBRARY_PATH";
    case kNoDevice: return "the NVIDIA driver reports no GPU: check CUDA_VISIBLE_DEVICES and the GPUs given to the container";
    case kSystemNotReady: return "the NVIDIA driver is not ready: on a machine with NVSwitch, start the fabric manager (nvidia-fabricmanager)";
    case kDriverMismatch: return "the NVIDIA driver's library and its kernel module differ in version: reboot, or mount the host's libcuda.so.1";
    case kCompatibilityUnsupported: return "this GPU does not support the installed CUDA compatibility package: remove it from LD_LIBRARY_PATH, or update the driver";
    default: return "";
  }
}

}  // namespace

Failure Driver::failure_of(Result result, const char* what) const {
  const char* text = nullptr;
  if (error_string(result, &text) != kSuccess || text == nullptr) text = "unknown error";
  const char* name = nullptr;
  if (error_name(result, &name) != kSuccess || name == nullptr) name = "CUDA error";
  if (result == kOutOfMemory) return {FailureKind::kOutOfMemory, result, std::string(what) + ": the GPU is out of memory"};
  return {FailureKind::kCuda, result, std::string(what) + ": " + text + " (" + name + ", " + std::to_string(result) + ")"};
}

void Driver::require(Result result, const char* what) const {
  if (result != kSuccess) throw Error(failure_of(result, what));
}

Driver open_driver(const std::string& file) {
  Driver driver;
  const char* const name = file.empty() ? "libcuda.so.1" : file.c_str();
  driver.library.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  driver.library.how = file.empty() ? "system" : "option";
  if (driver.library.handle == nullptr) {
    const char* const text = dlerror();
    const std::string said = text != nullptr ? text : name;
    if (!file.empty()) throw Error(FailureKind::kNoLibrary, "cannot open the CUDA driver library given by COLL_CUDA_LIBRARY: " + said);
    throw Error(FailureKind::kNoLibrary, "there is no NVIDIA driver, or this process cannot open it (a container must be given access to the GPU): " + said);
  }
  const std::string missing = bind_all(driver);
  identify(driver.library, "cuInit");
  if (driver.init == nullptr) throw Error(FailureKind::kNoLibrary, std::string(name) + " is not a CUDA driver: it has no cuInit");
  if (!missing.empty()) {
    throw Error(FailureKind::kNoLibrary, "the NVIDIA driver is older than CUDA 12.0, which is needed: " + driver.library.path + " has no " + missing);
  }
  const Result started = driver.init(0);
  if (started != kSuccess) {
    const std::string sentence = sentence_of(started);
    throw Error({FailureKind::kNoLibrary, started, sentence.empty() ? driver.failure_of(started, "the NVIDIA driver failed to start").message : sentence});
  }
  driver.require(driver.driver_version(&driver.version), "cuDriverGetVersion");
  if (driver.version < kOldestVersion) {
    throw Error(FailureKind::kNoLibrary, "the NVIDIA driver supports CUDA " + in_words(driver.version) + "; 12.0 or newer is needed");
  }
  int devices = 0;
  driver.require(driver.device_count(&devices), "cuDeviceGetCount");
  if (devices == 0) throw Error({FailureKind::kNoLibrary, kNoDevice, sentence_of(kNoDevice)});
  return driver;
}

}  // namespace coll::cuda
