#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../libraries/cuda_driver.h"

namespace coll {

// Pinned host memory in chunks, through which ordinary memory moves to devices and back.
class PinnedPool {
 public:
  static constexpr std::size_t kChunkBytes = 8u << 20;
  static constexpr std::size_t kSmallBytes = 64u << 10;
  static constexpr int kMostChunks = 8;
  static constexpr int kMostSmall = 64;

  // Goes back to the pool when it is dropped.
  using Chunk = std::shared_ptr<std::byte>;

  explicit PinnedPool(const cuda::Driver& driver) : driver_(driver) {}

  // A chunk for up to kChunkBytes. Waits for one as long as `is_wanted`; null where it is not any more.
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
  Shelf small_{kSmallBytes, kMostSmall, 0, {}};
  Shelf large_{kChunkBytes, kMostChunks, 0, {}};
};

}  // namespace coll
