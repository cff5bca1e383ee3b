#include "foreign_memory.h"

#include <cstdlib>
#include <string>

namespace coll {
namespace {

bool has_attribute(const cuda::Driver& driver, int attribute, cuda::Pointer pointer) {
  std::uint64_t value = 0;
  return driver.pointer_attribute(&value, attribute, pointer) == cuda::kSuccess && value != 0;
}

// Whether memory was made by cuMemCreate and cuMemMap, as by PyTorch's expandable segments and by
// NCCL itself. Such memory is not from cuMemAlloc, not from a pool, and not managed.
bool is_virtual(const cuda::Driver& driver, cuda::Pointer pointer) {
  return !has_attribute(driver, cuda::kPointerLegacyIpc, pointer) && !has_attribute(driver, cuda::kPointerPool, pointer) &&
         !has_attribute(driver, cuda::kPointerManaged, pointer);
}

int device_of(const cuda::Driver& driver, cuda::Pointer pointer) {
  int ordinal = -1;
  return driver.pointer_attribute(&ordinal, cuda::kPointerOrdinal, pointer) == cuda::kSuccess ? ordinal : -1;
}

// The number of bytes up to the end of an allocation; 0 if the driver does not know it.
std::size_t bytes_from(const cuda::Driver& driver, cuda::Pointer pointer) {
  cuda::Pointer begin = 0;
  std::size_t length = 0;
  if (driver.address_range(&begin, &length, pointer) != cuda::kSuccess) return 0;
  return length - static_cast<std::size_t>(pointer - begin);
}

// The driver reports one mapping at a time, but a tensor may be in several consecutive ones.
std::size_t mapped_bytes_from(const cuda::Driver& driver, cuda::Pointer pointer, int device, std::size_t wanted) {
  std::size_t mapped = bytes_from(driver, pointer);
  while (mapped > 0 && mapped < wanted) {
    const cuda::Pointer next = pointer + mapped;
    if (device_of(driver, next) != device || !is_virtual(driver, next)) break;
    const std::size_t more = bytes_from(driver, next);
    if (more == 0) break;
    mapped += more;
  }
  return mapped;
}

bool is_switched_on(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && std::atoi(text) != 0;
}

}  // namespace

void adopt(const cuda::Driver& driver, const Device& device, cuda::Pointer pointer, Allocation& into) {
  const std::string message = "the pointer does not refer to memory of GPU " + std::to_string(device.index());
  const int ordinal = device_of(driver, pointer);
  if (ordinal < 0) throw invalid(message);
  if (ordinal != device.index()) throw invalid(message + ": it belongs to GPU " + std::to_string(ordinal));
  // Memory of a pool, or of the virtual-memory API, belongs to no context.
  cuda::Context context = nullptr;
  const bool has_context = driver.pointer_attribute(&context, cuda::kPointerContext, pointer) == cuda::kSuccess && context != nullptr;
  if (has_context && context != device.context()) throw invalid(message + " in its primary context, the only context that this package uses");
  into.is_virtual = is_virtual(driver, pointer);
  const std::size_t left = into.is_virtual ? mapped_bytes_from(driver, pointer, ordinal, into.bytes) : bytes_from(driver, pointer);
  if (left == 0) throw invalid(message + ": the driver reports no end of its allocation");
  if (left < into.bytes) {
    throw invalid("the pointer has " + std::to_string(left) + " bytes up to the end of its allocation, not " + std::to_string(into.bytes));
  }
  into.pointer = pointer;
}

void require_open_to(const cuda::Driver& driver, const Allocation& allocation, const std::vector<int>& devices) {
  if (!allocation.is_virtual || is_switched_on("NCCL_P2P_DIRECT_DISABLE") || is_switched_on("NCCL_P2P_DISABLE")) return;
  for (const int peer : devices) {
    int can_access = 0;
    if (peer == allocation.device || driver.can_access_peer(&can_access, peer, allocation.device) != cuda::kSuccess || can_access == 0) continue;
    const cuda::Location location{cuda::kLocationDevice, peer};
    unsigned long long rights = 0;
    if (driver.access_of(&rights, &location, allocation.pointer) != cuda::kSuccess || rights == cuda::kReadAndWrite) continue;
    throw invalid("memory of GPU " + std::to_string(allocation.device) + " comes from CUDA's virtual-memory API, like PyTorch's expandable segments, and GPU " +
                  std::to_string(peer) + " of this process has no access to it, which NCCL needs: grant it with cuMemSetAccess, turn expandable segments off " +
                  "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False), or set NCCL_P2P_DIRECT_DISABLE=1");
  }
}

}  // namespace coll
