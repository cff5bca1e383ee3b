#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../libraries/cuda_driver.h"
#include "../tuning.h"

namespace coll {

// Pinned host memory in chunks, through which ordinary memory moves to devices and back.
class PinnedPool {
 public:
  // A chunk of pinned memory. It returns to the pool when the pointer is destroyed.
  using Chunk = std::shared_ptr<std::byte>;

  explicit PinnedPool(const cuda::Driver& driver) : driver_(driver) {}

  // A chunk for up to tuning::kChunkBytes. Waits for one as long as `is_wanted` returns true;
  // afterwards returns null.
  Chunk take(std::size_t bytes, const std::function<bool()>& is_wanted);
  std::size_t bytes() const;

 private:
  struct Shelf {
    std::size_t chunk_bytes;
    int most;
    int made = 0;
    std::vector<std::byte*> free;
  };

  const cuda::Driver& driver_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  Shelf small_{tuning::kSmallChunkBytes, tuning::kMostSmallChunks, 0, {}};
  Shelf large_{tuning::kChunkBytes, tuning::kMostChunks, 0, {}};
};

}  // namespace coll
