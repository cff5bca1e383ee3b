#include "buffer_operations.h"

#include <algorithm>
#include <cstring>

#include "foreign_memory.h"

namespace coll {
namespace {

SharedOperation operation_on(const char* name, std::vector<Use> uses, std::function<void(Operation&)> launch) {
  auto operation = std::make_shared<Operation>();
  operation->name = name;
  operation->uses = std::move(uses);
  operation->launch = std::move(launch);
  return operation;
}

// Splits a range into parts of at most one chunk. Makes at least one part, which may be empty.
template <class Make>
std::vector<SharedOperation> in_parts(std::size_t bytes, std::size_t part_bytes, const Make& make) {
  std::vector<SharedOperation> parts;
  std::size_t begin = 0;
  do {
    const std::size_t length = std::min(part_bytes, bytes - begin);
    parts.push_back(make(begin, length));
    begin += length;
  } while (begin < bytes);
  return parts;
}

// Copies through other memory, because CUDA does not define copies between ranges that overlap.
void copy_within(const cuda::Driver& driver, cuda::Pointer to, cuda::Pointer from, std::size_t bytes, cuda::Stream stream) {
  if (to == from) return;
  if (to >= from + bytes || from >= to + bytes) return driver.require(driver.copy(to, from, bytes, stream), "copy");
  cuda::Pointer between = 0;
  driver.require(driver.allocate(&between, bytes, stream), "copy");
  driver.require(driver.copy(between, from, bytes, stream), "copy");
  driver.require(driver.copy(to, between, bytes, stream), "copy");
  driver.require(driver.free(between, stream), "copy");
}

}  // namespace

void wait_for_uses(const Operation& operation, const Device& device, cuda::Stream stream) {
  for (const Use& use : operation.uses) {
    const Allocation& allocation = *use.allocation;
    if (allocation.device == device.index() && allocation.latest != nullptr) allocation.latest->hold_back(stream);
  }
}

void mark_end(Operation& operation, Device& device, cuda::Stream stream) {
  const SharedFence fence = device.fence(stream);
  for (const Use& use : operation.uses) {
    if (use.allocation->device == device.index()) use.allocation->latest = fence;
  }
  operation.fences.push_back(fence);
}

SharedOperation make_allocation(Runtime& runtime, const SharedAllocation& allocation) {
  return operation_on("allocate", {{allocation, true}}, [&runtime](Operation& self) {
    Allocation& made = *self.uses[0].allocation;
    Device& device = runtime.device(made.device);
    if (made.bytes == 0) return;
    const cuda::Stream stream = device.stream(Lane::kCompute);
    const cuda::Result result = runtime.driver.allocate(&made.pointer, made.bytes, stream);
    if (result != cuda::kSuccess) made.pointer = 0;
    const std::string what = std::to_string(made.bytes) + " bytes on GPU " + std::to_string(made.device);
    runtime.driver.require(result, what.c_str());
    mark_end(self, device, stream);
  });
}

SharedOperation adopt_pointer(Runtime& runtime, const SharedAllocation& allocation, cuda::Pointer pointer) {
  return operation_on("adopt", {{allocation, true}}, [&runtime, pointer](Operation& self) {
    Allocation& adopted = *self.uses[0].allocation;
    // If this throws, every operation that uses the allocation fails with the same message.
    if (adopted.bytes > 0) adopt(runtime.driver, runtime.device(adopted.device), pointer, adopted);
  });
}

std::vector<SharedOperation> write_buffer(Runtime& runtime, const DeviceAddress& into, const HostMemory& from) {
  const std::shared_ptr<std::byte> pinned = runtime.find_host(from.begin, from.bytes);
  const std::size_t part_bytes = pinned != nullptr ? std::max<std::size_t>(from.bytes, 1) : tuning::kChunkBytes;
  return in_parts(from.bytes, part_bytes, [&](std::size_t begin, std::size_t bytes) {
    auto operation = operation_on("write", {{into.allocation, true}}, [&runtime, into, from, pinned, begin, bytes](Operation& self) {
      if (bytes == 0) return;
      const std::byte* source = from.begin + begin;
      if (pinned == nullptr) {
        const PinnedPool::Chunk chunk = runtime.pinned.take(bytes, [&] { return !runtime.scheduler.has_failed(self); });
        if (chunk == nullptr) return;
        const bool is_there = from.touch([&] { std::memcpy(chunk.get(), source, bytes); });
        if (!is_there) throw Error(FailureKind::kAborted, "the thread that requested this has ended");
        self.kept.push_back(chunk);
        source = chunk.get();
      }
      Device& device = runtime.device(into.allocation->device);
      const cuda::Stream stream = device.stream(Lane::kUpload);
      wait_for_uses(self, device, stream);
      runtime.driver.require(runtime.driver.copy_up(into.allocation->pointer + into.offset + begin, source, bytes, stream), "write");
      mark_end(self, device, stream);
    });
    operation->kept = {from.keeper, pinned};
    return operation;
  });
}

std::vector<SharedOperation> read_buffer(Runtime& runtime, const DeviceAddress& from, const HostMemory& into) {
  const std::shared_ptr<std::byte> pinned = runtime.find_host(into.begin, into.bytes);
  const std::size_t part_bytes = pinned != nullptr ? std::max<std::size_t>(into.bytes, 1) : tuning::kChunkBytes;
  return in_parts(into.bytes, part_bytes, [&](std::size_t begin, std::size_t bytes) {
    auto operation = operation_on("read", {{from.allocation, false}}, [&runtime, from, into, pinned, begin, bytes](Operation& self) {
      if (bytes == 0) return;
      std::byte* target = into.begin + begin;
      if (pinned == nullptr) {
        const PinnedPool::Chunk chunk = runtime.pinned.take(bytes, [&] { return !runtime.scheduler.has_failed(self); });
        if (chunk == nullptr) return;
        self.kept.push_back(chunk);
        self.finish = [chunk, target, bytes, touch = into.touch](Operation&) { touch([&] { std::memcpy(target, chunk.get(), bytes); }); };
        target = chunk.get();
      }
      Device& device = runtime.device(from.allocation->device);
      const cuda::Stream stream = device.stream(Lane::kDownload);
      wait_for_uses(self, device, stream);
      runtime.driver.require(runtime.driver.copy_down(target, from.allocation->pointer + from.offset + begin, bytes, stream), "read");
      mark_end(self, device, stream);
    });
    operation->kept = {into.keeper, pinned};
    return operation;
  });
}

SharedOperation copy_buffer(Runtime& runtime, const DeviceAddress& into, const DeviceAddress& from, std::size_t bytes) {
  return operation_on("copy", {{into.allocation, true}, {from.allocation, false}}, [&runtime, into, from, bytes](Operation& self) {
    if (bytes == 0) return;
    const cuda::Driver& driver = runtime.driver;
    Device& source = runtime.device(from.allocation->device);
    Device& target = runtime.device(into.allocation->device);
    const cuda::Stream stream = target.stream(Lane::kCompute);
    for (const Use& use : self.uses) {
      if (use.allocation->latest != nullptr) use.allocation->latest->hold_back(stream);
    }
    const cuda::Pointer to = into.allocation->pointer + into.offset;
    const cuda::Pointer at = from.allocation->pointer + from.offset;
    if (&source == &target) copy_within(driver, to, at, bytes, stream);
    else driver.require(driver.copy_peer(to, target.context(), at, source.context(), bytes, stream), "copy");
    mark_end(self, target, stream);
    from.allocation->latest = self.fences.back();
  });
}

SharedOperation fill_buffer(Runtime& runtime, const DeviceAddress& into, std::size_t bytes, const std::vector<unsigned char>& pattern) {
  return operation_on("fill", {{into.allocation, true}}, [&runtime, into, bytes, pattern](Operation& self) {
    if (bytes == 0) return;
    const cuda::Driver& driver = runtime.driver;
    Device& device = runtime.device(into.allocation->device);
    const cuda::Stream stream = device.stream(Lane::kCompute);
    wait_for_uses(self, device, stream);
    const cuda::Pointer to = into.allocation->pointer + into.offset;
    const bool is_even = std::all_of(pattern.begin(), pattern.end(), [&](unsigned char byte) { return byte == pattern[0]; });
    const bool fits_words = 4 % pattern.size() == 0 && to % 4 == 0 && bytes % 4 == 0;
    if (is_even) {
      driver.require(driver.fill_bytes(to, pattern[0], bytes, stream), "fill");
    } else if (fits_words) {
      unsigned char word[4];
      for (std::size_t i = 0; i < 4; ++i) word[i] = pattern[i % pattern.size()];
      unsigned value;
      std::memcpy(&value, word, 4);
      driver.require(driver.fill_words(to, value, bytes / 4, stream), "fill");
    } else {
      // Writes the pattern once from pinned memory. Each further copy doubles the part of the
      // buffer that is filled.
      const PinnedPool::Chunk chunk = runtime.pinned.take(pattern.size(), [&] { return !runtime.scheduler.has_failed(self); });
      if (chunk == nullptr) return;
      std::memcpy(chunk.get(), pattern.data(), pattern.size());
      self.kept.push_back(chunk);
      driver.require(driver.copy_up(to, chunk.get(), pattern.size(), stream), "fill");
      for (std::size_t done = pattern.size(); done < bytes;) {
        const std::size_t more = std::min(done, bytes - done);
        driver.require(driver.copy(to + done, to, more, stream), "fill");
        done += more;
      }
    }
    mark_end(self, device, stream);
  });
}

SharedOperation wait_for_stream(Runtime& runtime, int index, cuda::Stream stream) {
  return operation_on("wait for a stream", {}, [&runtime, index, stream](Operation& self) {
    Device& device = runtime.device(index);
    const SharedFence fence = device.fence(stream);
    for (int lane = 0; lane < kLanes; ++lane) fence->hold_back(device.stream(static_cast<Lane>(lane)));
    self.fences.push_back(fence);
  });
}

SharedOperation order_after(Runtime& runtime, const SharedAllocation& allocation, cuda::Stream stream) {
  return operation_on("order a stream", {{allocation, false}}, [&runtime, stream](Operation& self) {
    const Allocation& used = *self.uses[0].allocation;
    runtime.device(used.device);
    if (used.latest != nullptr) used.latest->hold_back(stream);
  });
}

}  // namespace coll
