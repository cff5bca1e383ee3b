#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "device.h"

namespace coll {

// Device memory and its state. Uses happen in the order in which they were submitted: each use
// waits for the fence of the previous one.
struct Allocation {
  Allocation(int device_index, std::size_t size) : device(device_index), bytes(size) {}
  ~Allocation() {
    if (release) release(*this);
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  const int device;
  const std::size_t bytes;
  // Set on the submission thread by the operation that allocates it, which is the first to use it.
  cuda::Pointer pointer = 0;
  SharedFence latest;
  // Memory of CUDA's virtual-memory API that another library has made: each GPU needs permission to
  // access it.
  bool is_virtual = false;
  // Frees the memory. Runs when the allocation is no longer used, on any thread.
  std::function<void(const Allocation&)> release;
  // The reason why the contents are invalid, if they are. Protected by the scheduler's lock.
  std::optional<Failure> spoiled;
};

using SharedAllocation = std::shared_ptr<Allocation>;

}  // namespace coll
