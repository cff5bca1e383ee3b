// The virtual-memory API of the driver double. Physical memory has no contents of its own; each
// mapping has.
#include <sys/mman.h>

#include "../exported.h"
#include "current.h"
#include "memory.h"

using namespace coll::cuda;
using coll::doubles::Memory;
using coll::doubles::refusal;

namespace {

struct AllocationProperties {
  int type;
  int handle_types;
  Location location;
};

}  // namespace

COLL_EXPORT Result cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties*, int) {
  *bytes = std::size_t{2} << 20;
  return kSuccess;
}

COLL_EXPORT Result cuMemAddressReserve(Pointer* pointer, std::size_t bytes, std::size_t, Pointer, unsigned long long) {
  void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return kOutOfMemory;
  *pointer = reinterpret_cast<Pointer>(made);
  return kSuccess;
}

COLL_EXPORT Result cuMemAddressFree(Pointer pointer, std::size_t bytes) { return munmap(reinterpret_cast<void*>(pointer), bytes) == 0 ? kSuccess : kInvalidValue; }

// The handle is the number of the device.
COLL_EXPORT Result cuMemCreate(unsigned long long* handle, std::size_t, const AllocationProperties* properties, unsigned long long) {
  *handle = static_cast<unsigned long long>(properties->location.id);
  return kSuccess;
}

COLL_EXPORT Result cuMemRelease(unsigned long long) { return kSuccess; }

COLL_EXPORT Result cuMemMap(Pointer pointer, std::size_t bytes, std::size_t, unsigned long long handle, unsigned long long) {
  Memory::of_process().map(pointer, bytes, static_cast<int>(handle));
  return kSuccess;
}

COLL_EXPORT Result cuMemUnmap(Pointer pointer, std::size_t) {
  Memory::of_process().unmap(pointer);
  return kSuccess;
}

COLL_EXPORT Result cuMemSetAccess(Pointer pointer, std::size_t bytes, const Access* access, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) Memory::of_process().open_to(pointer, bytes, access[i].location.id);
  return kSuccess;
}

COLL_EXPORT Result cuMemGetAccess(unsigned long long* rights, const Location* location, Pointer pointer) {
  if (const Result refused = refusal("cuMemGetAccess")) return refused;
  Memory& memory = Memory::of_process();
  if (!memory.is_virtual(pointer)) return kInvalidValue;
  *rights = memory.is_open_to(pointer, location->id) ? kReadAndWrite : 0;
  return kSuccess;
}
