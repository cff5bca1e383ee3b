#include "pinned_pool.h"

#include <chrono>

namespace coll {

PinnedPool::Chunk PinnedPool::take(std::size_t bytes, const std::function<bool()>& is_wanted) {
  Shelf& shelf = bytes <= tuning::kSmallChunkBytes ? small_ : large_;
  std::unique_lock<std::mutex> lock(mutex_);
  while (shelf.free.empty() && shelf.made == shelf.most) {
    // Uses the system clock: waiting by the steady clock needs glibc 2.30.
    returned_.wait_until(lock, std::chrono::system_clock::now() + tuning::kChunkInterval);
    lock.unlock();
    const bool goes_on = is_wanted();
    lock.lock();
    if (!goes_on) return nullptr;
  }
  std::byte* memory = nullptr;
  if (shelf.free.empty()) {
    void* made = nullptr;
    driver_.require(driver_.allocate_host(&made, shelf.chunk_bytes, cuda::kHostPortable), "cuMemHostAlloc");
    memory = static_cast<std::byte*>(made);
    ++shelf.made;
  } else {
    memory = shelf.free.back();
    shelf.free.pop_back();
  }
  return Chunk(memory, [this, &shelf](std::byte* used) {
    const std::lock_guard<std::mutex> returning(mutex_);
    shelf.free.push_back(used);
    returned_.notify_one();
  });
}

std::size_t PinnedPool::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<std::size_t>(small_.made) * tuning::kSmallChunkBytes + static_cast<std::size_t>(large_.made) * tuning::kChunkBytes;
}

}  // namespace coll
