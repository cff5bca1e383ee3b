#include "runtime.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../libraries/machine.h"
#include "../tuning.h"

namespace coll {
namespace {

std::mutex opening;
// Never deleted: its threads run until the process ends.
Runtime* opened_runtime = nullptr;

int count_devices(const cuda::Driver& driver) {
  int count = 0;
  driver.require(driver.device_count(&count), "cuDeviceGetCount");
  return count;
}

// At the exit of the process, the driver waits for work of the GPUs and for threads inside its
// calls. Either may never end, so then the process exits without the driver. The system frees all
// resources in any case.
void end_with_process(int status, void* runtime) {
  if (static_cast<Runtime*>(runtime)->scheduler.come_to_rest(tuning::kLongestExit)) return;
  std::fflush(nullptr);
  _exit(status);
}

void require_same(const Library& opened, const nccl::Choice& choice) {
  if (!choice.environment.empty() || choice.program.empty() || nccl::is_named_by(opened, choice.program)) return;
  throw invalid("libraryPath is " + choice.program + ", but this process uses " + opened.path + " already: set it before anything else uses NCCL");
}

void open_nccl_for(Opened& opened, const LibraryChoice& choice) {
  if (opened.runtime != nullptr && opened.runtime->has_nccl()) return require_same(opened.runtime->nccl().library, choice.nccl);
  try {
    nccl::Nccl nccl = nccl::open_nccl(choice.nccl);
    if (opened.runtime == nullptr) return;
    nccl::require_nvml(choice.nvml);
    if (nccl.library.is_double != opened.runtime->driver.library.is_double) {
      throw Error(FailureKind::kNoLibrary, "the CUDA driver and NCCL must both be real or both be test doubles: check COLL_CUDA_LIBRARY and COLL_NCCL_LIBRARY");
    }
    opened.runtime->set_nccl(std::move(nccl));
  } catch (const Error& error) {
    opened.nccl_failure = error.failure();
  }
}

}  // namespace

Runtime::Runtime(cuda::Driver opened, int devices) : driver(std::move(opened)), device_count(devices), pinned(driver) {}

Device& Runtime::device(int index) {
  if (index < 0 || index >= device_count) {
    throw invalid("GPU " + std::to_string(index) + " does not exist: this process has " + std::to_string(device_count));
  }
  std::unique_ptr<Device>& device = devices_[index];
  if (device == nullptr) {
    scheduler.while_deadlines_stand([&] { device = std::make_unique<Device>(driver, index); });
    // Handlers registered last run first: this one runs before the driver's own, which its first
    // context may have registered.
    static const int registered = on_exit(end_with_process, this);
    static_cast<void>(registered);
  }
  device->enter();
  return *device;
}

const nccl::Nccl& Runtime::nccl() const {
  if (nccl_ == nullptr) throw Error(FailureKind::kNoLibrary, "NCCL is not loaded: call probe() for the reason");
  return *nccl_;
}

void Runtime::set_nccl(nccl::Nccl opened) { nccl_ = std::make_unique<nccl::Nccl>(std::move(opened)); }

SharedAllocation Runtime::new_allocation(int device_index, std::size_t bytes, bool is_ours) {
  auto allocation = std::make_shared<Allocation>(device_index, bytes);
  ++counts.buffers;
  counts.buffer_bytes += static_cast<long>(bytes);
  allocation->release = [this, is_ours](const Allocation& old) {
    --counts.buffers;
    counts.buffer_bytes -= static_cast<long>(old.bytes);
    if (!is_ours || old.pointer == 0) return;
    scheduler.submit_chore([this, device_index = old.device, pointer = old.pointer, latest = old.latest] {
      Device& owner = device(device_index);
      const cuda::Stream stream = owner.stream(Lane::kCompute);
      if (latest != nullptr) latest->hold_back(stream);
      driver.free(pointer, stream);
    });
  };
  return allocation;
}

void Runtime::add_host(const std::shared_ptr<std::byte>& memory, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(host_mutex_);
  host_[memory.get()] = {memory, bytes};
}

std::shared_ptr<std::byte> Runtime::find_host(const std::byte* begin, std::size_t bytes) const {
  const std::lock_guard<std::mutex> lock(host_mutex_);
  auto after = host_.upper_bound(begin);
  if (after == host_.begin()) return nullptr;
  const auto& [start, block] = *--after;
  return begin + bytes <= start + block.bytes ? block.memory.lock() : nullptr;
}

void Runtime::remove_host(const std::byte* memory) {
  const std::lock_guard<std::mutex> lock(host_mutex_);
  host_.erase(memory);
}

Opened open_libraries(const LibraryChoice& choice) {
  const std::lock_guard<std::mutex> lock(opening);
  Opened opened;
  if (opened_runtime == nullptr) {
    try {
      cuda::Driver driver = cuda::open_driver(choice.cuda);
      const int devices = count_devices(driver);
      stay_loaded();
      opened_runtime = new Runtime(std::move(driver), devices);
    } catch (const Error& error) {
      opened.driver_failure = error.failure();
    }
  }
  opened.runtime = opened_runtime;
  open_nccl_for(opened, choice);
  return opened;
}

Runtime& the_runtime() {
  const std::lock_guard<std::mutex> lock(opening);
  if (opened_runtime == nullptr) throw Error(FailureKind::kNoLibrary, "no GPU can be used here: call probe() for the reason");
  return *opened_runtime;
}

}  // namespace coll
