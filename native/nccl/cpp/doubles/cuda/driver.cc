// The part of libcuda.so.1 that this project calls, in host memory. Fails where the behavior of the
// real one is undefined.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "../control.h"
#include "../exported.h"
#include "current.h"
#include "kernels.h"
#include "memory.h"
#include "streams.h"

namespace coll::cuda {

struct ModuleRecord {
  std::string text;
};
struct FunctionRecord {
  std::string name;
};
struct PoolRecord {};

}  // namespace coll::cuda

namespace coll::doubles {

thread_local cuda::Context current = nullptr;

std::atomic<bool> is_torn_down{false};

cuda::Result refusal(const char* function) {
  if (is_torn_down) {
    std::fprintf(stderr, "%s: called while the process exits (the real driver would crash, or hang)\n", function);
    std::abort();
  }
  const int wished = wish(std::string("fail ") + function, 0);
  if (wished != 0) return wished;
  return current == nullptr ? cuda::kInvalidContext : cuda::kSuccess;
}

}  // namespace coll::doubles

namespace {

using namespace coll::cuda;
using coll::doubles::current;
using coll::doubles::is_wished;
using coll::doubles::Memory;
using coll::doubles::refusal;
using coll::doubles::wish;

constexpr int kMostDevices = 16;
constexpr std::size_t kDeviceBytes = std::size_t{1} << 32;

ContextRecord contexts[kMostDevices];
// All memory except mappings comes from this pool.
PoolRecord the_pool;
int device_count() {
  static const int count = coll::doubles::from_environment("COLL_DOUBLE_DEVICES", 2);
  return count;
}

bool is_device(int device) { return device >= 0 && device < device_count(); }

// Whether the range is memory of the stream's device, as a copy on the stream needs.
bool is_there(Pointer pointer, std::size_t bytes, Stream stream) { return Memory::of_process().device_of(pointer, bytes) == stream->device; }

void* host(Pointer pointer) { return reinterpret_cast<void*>(pointer); }

Result put_copy(const char* function, void* into, const void* from, std::size_t bytes, Stream stream, bool is_sound) {
  if (const Result refused = refusal(function)) return refused;
  if (stream == nullptr || !is_sound) return kInvalidValue;
  stream->put([=] { std::memcpy(into, from, bytes); });
  return kSuccess;
}

// Called at the exit of the process. Like the real driver, it waits for work of the GPUs.
void tear_down() {
  coll::doubles::is_torn_down = true;
  coll::doubles::wait_for_all_streams();
}

}  // namespace

COLL_EXPORT int coll_is_test_double() { return 1; }
COLL_EXPORT long coll_double_blocks() { return Memory::of_process().count(); }
COLL_EXPORT long coll_double_streams() { return coll::doubles::stream_count; }
COLL_EXPORT long coll_double_events() { return coll::doubles::event_count; }
__attribute__((destructor)) static void tell_counts() {
  using coll::doubles::tell_count;
  tell_count("blocks", coll_double_blocks());
  tell_count("streams", coll_double_streams());
  tell_count("events", coll_double_events());
}

// Submits a task to a stream, for the NCCL double.
COLL_EXPORT void coll_double_put(Stream stream, void (*task)(void*), void* argument) {
  stream->put([=] { task(argument); });
}
COLL_EXPORT int coll_double_device_of(const void* pointer, std::size_t bytes) {
  return Memory::of_process().device_of(reinterpret_cast<Pointer>(pointer), bytes);
}
COLL_EXPORT int coll_double_current_device() { return current == nullptr ? -1 : current->device; }

COLL_EXPORT Result cuInit(unsigned) {
  static const int registered = std::atexit(tear_down);
  static_cast<void>(registered);
  return wish("fail cuInit", 0);
}

COLL_EXPORT Result cuDriverGetVersion(int* version) {
  *version = coll::doubles::from_environment("COLL_DOUBLE_CUDA_VERSION", 12000);
  return kSuccess;
}

COLL_EXPORT Result cuGetErrorName(Result, const char** name) {
  *name = "CUDA_ERROR_OF_TEST_DOUBLE";
  return kSuccess;
}

COLL_EXPORT Result cuGetErrorString(Result, const char** text) {
  *text = "requested by the test double";
  return kSuccess;
}

COLL_EXPORT Result cuDeviceGetCount(int* count) {
  *count = device_count();
  return kSuccess;
}

COLL_EXPORT Result cuDeviceGet(int* device, int index) {
  if (!is_device(index)) return kInvalidDevice;
  *device = index;
  return kSuccess;
}

COLL_EXPORT Result cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "test double (no GPU)");
  return kSuccess;
}

COLL_EXPORT Result cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  std::memset(uuid, 0, sizeof *uuid);
  uuid->bytes[15] = static_cast<unsigned char>(device);
  return kSuccess;
}

COLL_EXPORT Result cuDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0", device + 1);
  return kSuccess;
}

COLL_EXPORT Result cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == kAttributeMultiprocessors ? 4 : attribute == kAttributeCapabilityMajor ? 9 : attribute == kAttributeMemoryPools ? 1 : 0;
  return kSuccess;
}

COLL_EXPORT Result cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = kDeviceBytes;
  return kSuccess;
}

COLL_EXPORT Result cuDevicePrimaryCtxRetain(Context* context, int device) {
  if (const Result refused = wish("fail cuDevicePrimaryCtxRetain", 0)) return refused;
  if (!is_device(device)) return kInvalidDevice;
  contexts[device].device = device;
  *context = &contexts[device];
  return kSuccess;
}

COLL_EXPORT Result cuCtxSetCurrent(Context context) {
  current = context;
  return kSuccess;
}

COLL_EXPORT Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (const Result refused = refusal("cuCtxGetStreamPriorityRange")) return refused;
  *least = 0;
  *greatest = -5;
  return kSuccess;
}

COLL_EXPORT Result cuMemAllocAsync(Pointer* pointer, std::size_t bytes, Stream stream) {
  if (const Result refused = refusal("cuMemAllocAsync")) return refused;
  if (bytes == 0 || stream == nullptr) return kInvalidValue;
  *pointer = bytes > kDeviceBytes ? 0 : Memory::of_process().allocate(bytes, stream->device);
  return *pointer == 0 ? kOutOfMemory : kSuccess;
}

COLL_EXPORT Result cuMemFreeAsync(Pointer pointer, Stream stream) {
  if (const Result refused = refusal("cuMemFreeAsync")) return refused;
  std::size_t bytes = 0;
  if (stream == nullptr || !Memory::of_process().forget(pointer, bytes)) return kInvalidValue;
  stream->put([pointer, bytes] { Memory::release(pointer, bytes); });
  return kSuccess;
}

COLL_EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (const Result refused = refusal("cuMemGetInfo_v2")) return refused;
  *total = kDeviceBytes;
  *free = kDeviceBytes - Memory::of_process().bytes_on(current->device);
  return kSuccess;
}

COLL_EXPORT Result cuDeviceGetDefaultMemPool(Pool* pool, int) {
  *pool = &the_pool;
  return kSuccess;
}

COLL_EXPORT Result cuMemPoolSetAttribute(Pool, int, void*) { return kSuccess; }

COLL_EXPORT Result cuDeviceCanAccessPeer(int* can_access, int device, int peer) {
  *can_access = is_device(device) && is_device(peer) && device != peer ? 1 : 0;
  return kSuccess;
}

COLL_EXPORT Result cuMemPoolSetAccess(Pool, const Access* access, std::size_t count) {
  return count == 1 && access->location.type == kLocationDevice && access->rights == kReadAndWrite && is_device(access->location.id) ? kSuccess : kInvalidValue;
}

COLL_EXPORT Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const Result refused = refusal("cuMemHostAlloc")) return refused;
  *memory = Memory::of_process().allocate_host(bytes);
  return kSuccess;
}

COLL_EXPORT Result cuMemFreeHost(void* memory) {
  if (const Result refused = refusal("cuMemFreeHost")) return refused;
  return Memory::of_process().free_host(memory) ? kSuccess : kInvalidValue;
}

COLL_EXPORT Result cuMemcpyHtoDAsync_v2(Pointer into, const void* from, std::size_t bytes, Stream stream) {
  return put_copy("cuMemcpyHtoDAsync_v2", host(into), from, bytes, stream, is_there(into, bytes, stream));
}

COLL_EXPORT Result cuMemcpyDtoHAsync_v2(void* into, Pointer from, std::size_t bytes, Stream stream) {
  return put_copy("cuMemcpyDtoHAsync_v2", into, host(from), bytes, stream, is_there(from, bytes, stream));
}

COLL_EXPORT Result cuMemcpyDtoDAsync_v2(Pointer into, Pointer from, std::size_t bytes, Stream stream) {
  // Refuses copies between ranges that overlap, which the real driver does not define.
  if (into < from + bytes && from < into + bytes) return kInvalidValue;
  return put_copy("cuMemcpyDtoDAsync_v2", host(into), host(from), bytes, stream, is_there(into, bytes, stream) && is_there(from, bytes, stream));
}

COLL_EXPORT Result cuMemcpyPeerAsync(Pointer into, Context target, Pointer from, Context source, std::size_t bytes, Stream stream) {
  Memory& memory = Memory::of_process();
  const bool is_sound = memory.device_of(into, bytes) == target->device && memory.device_of(from, bytes) == source->device;
  return put_copy("cuMemcpyPeerAsync", host(into), host(from), bytes, stream, is_sound);
}

COLL_EXPORT Result cuMemsetD8Async(Pointer into, unsigned char byte, std::size_t bytes, Stream stream) {
  if (const Result refused = refusal("cuMemsetD8Async")) return refused;
  if (!is_there(into, bytes, stream)) return kInvalidValue;
  stream->put([=] { std::memset(host(into), byte, bytes); });
  return kSuccess;
}

COLL_EXPORT Result cuMemsetD32Async(Pointer into, unsigned word, std::size_t count, Stream stream) {
  if (const Result refused = refusal("cuMemsetD32Async")) return refused;
  if (into % sizeof word != 0 || !is_there(into, count * sizeof word, stream)) return kInvalidValue;
  stream->put([=] {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(static_cast<char*>(host(into)) + i * sizeof word, &word, sizeof word);
  });
  return kSuccess;
}

COLL_EXPORT Result cuPointerGetAttribute(void* value, int attribute, Pointer pointer) {
  Memory& memory = Memory::of_process();
  Pointer begin = 0;
  std::size_t bytes = 0;
  if (!memory.find(pointer, begin, bytes)) return kInvalidValue;
  const bool is_virtual = memory.is_virtual(pointer);
  if (attribute == kPointerContext || attribute == kPointerPool) {
    // Returns another context than the primary one, if the control file requests this.
    static ContextRecord stranger{0};
    const void* found = nullptr;
    if (attribute == kPointerContext && is_wished("strange context")) found = &stranger;
    if (attribute == kPointerPool && !is_virtual) found = &the_pool;
    std::memcpy(value, &found, sizeof found);
    return kSuccess;
  }
  if (attribute != kPointerOrdinal && attribute != kPointerLegacyIpc && attribute != kPointerManaged) return kInvalidValue;
  const int found = attribute == kPointerOrdinal ? memory.device_of_block(pointer) : 0;
  std::memcpy(value, &found, sizeof found);
  return kSuccess;
}

COLL_EXPORT Result cuMemGetAddressRange_v2(Pointer* begin, std::size_t* bytes, Pointer pointer) {
  if (const Result refused = refusal("cuMemGetAddressRange_v2")) return refused;
  return Memory::of_process().find(pointer, *begin, *bytes) ? kSuccess : kInvalidValue;
}

// Keeps the text only, because PTX cannot run here. Later calls check that it has the kernels.
COLL_EXPORT Result cuModuleLoadDataEx(Module* module, const void* text, unsigned, int*, void**) {
  if (const Result refused = refusal("cuModuleLoadDataEx")) return refused;
  std::this_thread::sleep_for(std::chrono::milliseconds(wish("slow module", 0)));
  *module = new ModuleRecord{static_cast<const char*>(text)};
  return (*module)->text.find("\n.version 6.3\n") == std::string::npos ? kUnsupportedPtx : kSuccess;
}

COLL_EXPORT Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  const bool is_in_text = module->text.find(std::string(".entry ") + name + "(") != std::string::npos;
  if (!is_in_text || !coll::doubles::has_kernel(name)) return kNotFound;
  *function = new FunctionRecord{name};
  return kSuccess;
}

COLL_EXPORT Result cuLaunchKernel(Function function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, Stream stream,
                                  void** arguments, void**) {
  if (const Result refused = refusal("cuLaunchKernel")) return refused;
  if (blocks == 0 || threads == 0 || stream == nullptr) return kInvalidValue;
  stream->put([launch = coll::doubles::launch_of(function->name, arguments), blocks, threads] { launch(blocks, threads); });
  return kSuccess;
}
