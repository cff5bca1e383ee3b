#pragma once

#include <vector>

#include "../work/runtime.h"

namespace coll {

// An address in device memory.
struct DeviceAddress {
  SharedAllocation allocation;
  std::size_t offset = 0;
};

// Host memory that does not move. `touch` calls its argument with the memory, unless it was freed
// in the meantime.
struct HostMemory {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<void> keeper;
  std::function<bool(const std::function<void()>&)> touch;
};

// The following functions make operations. The caller sets how they settle, and submits them in
// this order. The ranges must be valid.
SharedOperation make_allocation(Runtime& runtime, const SharedAllocation& allocation);
SharedOperation adopt_pointer(Runtime& runtime, const SharedAllocation& allocation, cuda::Pointer pointer);
// Copies ordinary memory in parts, each through a chunk of pinned memory.
std::vector<SharedOperation> write_buffer(Runtime& runtime, const DeviceAddress& into, const HostMemory& from);
std::vector<SharedOperation> read_buffer(Runtime& runtime, const DeviceAddress& from, const HostMemory& into);
SharedOperation copy_buffer(Runtime& runtime, const DeviceAddress& into, const DeviceAddress& from, std::size_t bytes);
SharedOperation fill_buffer(Runtime& runtime, const DeviceAddress& into, std::size_t bytes, const std::vector<unsigned char>& pattern);
SharedOperation wait_for_stream(Runtime& runtime, int device, cuda::Stream stream);
SharedOperation order_after(Runtime& runtime, const SharedAllocation& allocation, cuda::Stream stream);

// Makes a lane of a device wait for all previous uses of the operation's memory on that device.
void wait_for_uses(const Operation& operation, const Device& device, cuda::Stream stream);
// Marks the end of the operation on that lane, for later uses of its memory and for completion.
void mark_end(Operation& operation, Device& device, cuda::Stream stream);

}  // namespace coll
