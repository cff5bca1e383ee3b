// If CUDA's headers are installed: compares the values and the arguments of our declarations with
// theirs, at compile time.
#if __has_include(<cuda.h>)
#include <cuda.h>

#include <array>

#include "../libraries/cuda_driver.h"

namespace coll::cuda {
namespace {

template <class Function>
struct Shape;
template <class Result, class... Arguments>
struct Shape<Result(Arguments...)> {
  static constexpr std::array<std::size_t, sizeof...(Arguments) + 1> kSizes = {sizeof(Result), sizeof(Arguments)...};
};
template <class Result, class... Arguments>
struct Shape<Result (*)(Arguments...)> : Shape<Result(Arguments...)> {};

template <class Ours, class Theirs>
constexpr bool have_one_shape() {
  if constexpr (Shape<Ours>::kSizes.size() != Shape<Theirs>::kSizes.size()) {
    return false;
  } else {
    for (std::size_t i = 0; i < Shape<Ours>::kSizes.size(); ++i) {
      if (Shape<Ours>::kSizes[i] != Shape<Theirs>::kSizes[i]) return false;
    }
    return true;
  }
}

static_assert(static_cast<int>(CU_STREAM_NON_BLOCKING) == static_cast<int>(kStreamNonBlocking));
static_assert(static_cast<int>(CU_EVENT_DISABLE_TIMING) == static_cast<int>(kEventNoTiming));
static_assert(static_cast<int>(CU_MEMHOSTALLOC_PORTABLE) == static_cast<int>(kHostPortable));
static_assert(static_cast<int>(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == static_cast<int>(kAttributeMultiprocessors));
static_assert(static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == static_cast<int>(kAttributeCapabilityMajor));
static_assert(static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == static_cast<int>(kAttributeCapabilityMinor));
static_assert(static_cast<int>(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == static_cast<int>(kAttributeMemoryPools));
static_assert(static_cast<int>(CU_POINTER_ATTRIBUTE_CONTEXT) == static_cast<int>(kPointerContext));
static_assert(static_cast<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) == static_cast<int>(kPointerOrdinal));
static_assert(static_cast<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED) == static_cast<int>(kPointerManaged));
static_assert(static_cast<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) == static_cast<int>(kPointerLegacyIpc));
static_assert(static_cast<int>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) == static_cast<int>(kPointerPool));
static_assert(static_cast<int>(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == static_cast<int>(kPoolReleaseThreshold));
static_assert(static_cast<int>(CUDA_ERROR_DEINITIALIZED) == static_cast<int>(kShuttingDown));
static_assert(static_cast<int>(CUDA_ERROR_STUB_LIBRARY) == static_cast<int>(kStub));
static_assert(static_cast<int>(CUDA_ERROR_NO_DEVICE) == static_cast<int>(kNoDevice));
static_assert(static_cast<int>(CUDA_ERROR_UNSUPPORTED_PTX_VERSION) == static_cast<int>(kUnsupportedPtx));
static_assert(static_cast<int>(CUDA_ERROR_NOT_READY) == static_cast<int>(kNotReady));
static_assert(static_cast<int>(CUDA_ERROR_SYSTEM_NOT_READY) == static_cast<int>(kSystemNotReady));
static_assert(static_cast<int>(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) == static_cast<int>(kDriverMismatch));
static_assert(static_cast<int>(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE) == static_cast<int>(kCompatibilityUnsupported));
static_assert(static_cast<int>(CUDA_ERROR_OUT_OF_MEMORY) == static_cast<int>(kOutOfMemory));

static_assert(sizeof(CUmemAccessDesc) == sizeof(Access));
static_assert(static_cast<int>(CU_MEM_LOCATION_TYPE_DEVICE) == kLocationDevice);
static_assert(static_cast<int>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == kReadAndWrite);
static_assert(have_one_shape<decltype(Driver::can_access_peer), decltype(cuDeviceCanAccessPeer)>());
static_assert(have_one_shape<decltype(Driver::set_pool_access), decltype(cuMemPoolSetAccess)>());
static_assert(have_one_shape<decltype(Driver::init), decltype(cuInit)>());
static_assert(have_one_shape<decltype(Driver::driver_version), decltype(cuDriverGetVersion)>());
static_assert(have_one_shape<decltype(Driver::error_name), decltype(cuGetErrorName)>());
static_assert(have_one_shape<decltype(Driver::error_string), decltype(cuGetErrorString)>());
static_assert(have_one_shape<decltype(Driver::device_count), decltype(cuDeviceGetCount)>());
static_assert(have_one_shape<decltype(Driver::device_get), decltype(cuDeviceGet)>());
static_assert(have_one_shape<decltype(Driver::device_name), decltype(cuDeviceGetName)>());
static_assert(have_one_shape<decltype(Driver::device_uuid), decltype(cuDeviceGetUuid)>());
static_assert(have_one_shape<decltype(Driver::device_bus_id), decltype(cuDeviceGetPCIBusId)>());
static_assert(have_one_shape<decltype(Driver::device_attribute), decltype(cuDeviceGetAttribute)>());
static_assert(have_one_shape<decltype(Driver::device_bytes), decltype(cuDeviceTotalMem)>());
static_assert(have_one_shape<decltype(Driver::context_retain), decltype(cuDevicePrimaryCtxRetain)>());
static_assert(have_one_shape<decltype(Driver::context_set), decltype(cuCtxSetCurrent)>());
static_assert(have_one_shape<decltype(Driver::stream_priorities), decltype(cuCtxGetStreamPriorityRange)>());
static_assert(have_one_shape<decltype(Driver::stream_create), decltype(cuStreamCreateWithPriority)>());
static_assert(have_one_shape<decltype(Driver::stream_synchronize), decltype(cuStreamSynchronize)>());
static_assert(have_one_shape<decltype(Driver::stream_wait), decltype(cuStreamWaitEvent)>());
static_assert(have_one_shape<decltype(Driver::event_create), decltype(cuEventCreate)>());
static_assert(have_one_shape<decltype(Driver::event_record), decltype(cuEventRecord)>());
static_assert(have_one_shape<decltype(Driver::event_query), decltype(cuEventQuery)>());
static_assert(have_one_shape<decltype(Driver::event_destroy), decltype(cuEventDestroy)>());
static_assert(have_one_shape<decltype(Driver::allocate), decltype(cuMemAllocAsync)>());
static_assert(have_one_shape<decltype(Driver::free), decltype(cuMemFreeAsync)>());
static_assert(have_one_shape<decltype(Driver::default_pool), decltype(cuDeviceGetDefaultMemPool)>());
static_assert(have_one_shape<decltype(Driver::set_pool), decltype(cuMemPoolSetAttribute)>());
static_assert(have_one_shape<decltype(Driver::allocate_host), decltype(cuMemHostAlloc)>());
static_assert(have_one_shape<decltype(Driver::free_host), decltype(cuMemFreeHost)>());
static_assert(have_one_shape<decltype(Driver::copy_up), decltype(cuMemcpyHtoDAsync)>());
static_assert(have_one_shape<decltype(Driver::copy_down), decltype(cuMemcpyDtoHAsync)>());
static_assert(have_one_shape<decltype(Driver::copy), decltype(cuMemcpyDtoDAsync)>());
static_assert(have_one_shape<decltype(Driver::copy_peer), decltype(cuMemcpyPeerAsync)>());
static_assert(have_one_shape<decltype(Driver::fill_bytes), decltype(cuMemsetD8Async)>());
static_assert(have_one_shape<decltype(Driver::fill_words), decltype(cuMemsetD32Async)>());
static_assert(have_one_shape<decltype(Driver::pointer_attribute), decltype(cuPointerGetAttribute)>());
static_assert(have_one_shape<decltype(Driver::memory_info), decltype(cuMemGetInfo)>());
static_assert(have_one_shape<decltype(Driver::address_range), decltype(cuMemGetAddressRange)>());
static_assert(have_one_shape<decltype(Driver::access_of), decltype(cuMemGetAccess)>());
static_assert(have_one_shape<decltype(Driver::module_load), decltype(cuModuleLoadDataEx)>());
static_assert(have_one_shape<decltype(Driver::module_function), decltype(cuModuleGetFunction)>());
static_assert(have_one_shape<decltype(Driver::launch), decltype(cuLaunchKernel)>());

}  // namespace
}  // namespace coll::cuda
#endif
