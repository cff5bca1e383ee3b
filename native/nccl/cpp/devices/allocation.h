#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "device.h"

namespace coll {

// Device memory and what is known of it. Everything that uses it happens in the order in which it was submitted: each use waits for the
// fence of the one before.
struct Allocation {
  Allocation(int device_index, std::size_t size) : device(device_index), bytes(size) {}
  ~Allocation() {
    if (release) release(*this);
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  const int device;
  const std::size_t bytes;
  // Set by the operation that makes it, on the submission thread, as the next one.
  cuda::Pointer pointer = 0;
  SharedFence latest;
  // Somebody else's, of CUDA's virtual-memory API: each GPU needs leave to access it.
  bool is_virtual = false;
  // Gives the memory back; runs when nobody has the allocation any more, on any thread.
  std::function<void(const Allocation&)> release;
  // Why its contents are worth nothing. Under the scheduler's lock.
  std::optional<Failure> spoiled;
};

using SharedAllocation = std::shared_ptr<Allocation>;

}  // namespace coll
