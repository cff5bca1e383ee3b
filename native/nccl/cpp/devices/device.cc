#include "device.h"

#include <cstdint>

#include "../kernels/kernels_text.h"

namespace coll {
namespace {

// Freed memory stays with the process; by default, CUDA returns it at every synchronization.
void keep_freed_memory(const cuda::Driver& driver, cuda::Pool pool) {
  std::uint64_t threshold = UINT64_MAX;
  driver.require(driver.set_pool(pool, cuda::kPoolReleaseThreshold, &threshold), "cuMemPoolSetAttribute");
}

// Between GPUs of one process, NCCL may read buffers of a peer directly, but peers have no access
// to memory of a pool by default.
void open_to_peers(const cuda::Driver& driver, cuda::Pool pool, int device) {
  int count = 0;
  driver.require(driver.device_count(&count), "cuDeviceGetCount");
  for (int peer = 0; peer < count; ++peer) {
    int can_access = 0;
    if (peer == device) continue;
    driver.require(driver.can_access_peer(&can_access, peer, device), "cuDeviceCanAccessPeer");
    const cuda::Access access{{cuda::kLocationDevice, peer}, cuda::kReadAndWrite};
    if (can_access != 0) driver.require(driver.set_pool_access(pool, &access, 1), "cuMemPoolSetAccess");
  }
}

}  // namespace

Device::Device(const cuda::Driver& driver, int index) : driver_(driver), index_(index), events_(driver) {
  int device = 0;
  driver.require(driver.device_get(&device, index), "cuDeviceGet");
  int has_pools = 0;
  driver.require(driver.device_attribute(&has_pools, cuda::kAttributeMemoryPools, device), "cuDeviceGetAttribute");
  if (has_pools == 0) throw Error(FailureKind::kCuda, "GPU " + std::to_string(index) + " does not support memory pools, which this package needs");
  driver.require(driver.device_attribute(&multiprocessors_, cuda::kAttributeMultiprocessors, device), "cuDeviceGetAttribute");
  driver.require(driver.context_retain(&context_, device), "cuDevicePrimaryCtxRetain");
  enter();
  int least = 0;
  int greatest = 0;
  driver.require(driver.stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
  for (int lane = 0; lane < kLanes; ++lane) {
    const int priority = lane == static_cast<int>(Lane::kCommunication) ? greatest : least;
    driver.require(driver.stream_create(&streams_[lane], cuda::kStreamNonBlocking, priority), "cuStreamCreateWithPriority");
  }
  cuda::Pool pool = nullptr;
  driver.require(driver.default_pool(&pool, device), "cuDeviceGetDefaultMemPool");
  keep_freed_memory(driver, pool);
  open_to_peers(driver, pool, device);
  load_kernels();
}

void Device::enter() const { driver_.require(driver_.context_set(context_), "cuCtxSetCurrent"); }

SharedFence Device::fence(Lane lane) { return fence(stream(lane)); }

SharedFence Device::fence(cuda::Stream stream) { return std::make_shared<const Fence>(driver_, context_, events_, stream); }

// A driver that loads lazily compiles a kernel only when its function is requested.
void Device::load_kernels() {
  const cuda::Result result = driver_.module_load(&module_, kernels_text(), 0, nullptr, nullptr);
  if (result == cuda::kUnsupportedPtx) throw Error({FailureKind::kCuda, result, "the NVIDIA driver is too old for the kernels of this package: update the driver"});
  driver_.require(result, "cuModuleLoadDataEx");
  for (const char* name : kernel_names()) driver_.require(driver_.module_function(&kernels_[name], module_, name), name);
}

cuda::Function Device::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) throw invalid("unknown kernel " + name);
  return found->second;
}

}  // namespace coll
