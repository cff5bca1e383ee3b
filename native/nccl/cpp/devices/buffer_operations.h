#pragma once

#include <vector>

#include "../work/runtime.h"

namespace coll {

// An address in device memory.
struct DeviceAddress {
  SharedAllocation allocation;
  std::size_t offset = 0;
};

// Host memory that stays where it is; `touch` runs a copy of it, unless it has gone since.
struct HostMemory {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<void> keeper;
  std::function<bool(const std::function<void()>&)> touch;
};

// These make operations; the caller adds how they settle, and submits them in this order. Ranges have been checked before.
SharedOperation make_allocation(Runtime& runtime, const SharedAllocation& allocation);
SharedOperation adopt_pointer(Runtime& runtime, const SharedAllocation& allocation, cuda::Pointer pointer);
// Ordinary memory moves in parts, each through a chunk of pinned memory.
std::vector<SharedOperation> write_buffer(Runtime& runtime, const DeviceAddress& into, const HostMemory& from);
std::vector<SharedOperation> read_buffer(Runtime& runtime, const DeviceAddress& from, const HostMemory& into);
SharedOperation copy_buffer(Runtime& runtime, const DeviceAddress& into, const DeviceAddress& from, std::size_t bytes);
SharedOperation fill_buffer(Runtime& runtime, const DeviceAddress& into, std::size_t bytes, const std::vector<unsigned char>& pattern);
SharedOperation wait_for_stream(Runtime& runtime, int device, cuda::Stream stream);
SharedOperation order_after(Runtime& runtime, const SharedAllocation& allocation, cuda::Stream stream);

// Lets a lane of a device wait for all that the operation uses there.
void wait_for_uses(const Operation& operation, const Device& device, cuda::Stream stream);
// Marks the end of the operation on that lane, for its uses on the device and for whoever waits for it.
void mark_end(Operation& operation, Device& device, cuda::Stream stream);

}  // namespace coll
