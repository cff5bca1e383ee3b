#pragma once

#if defined(__linux__)

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "../shared/shared_memory.h"
#include "../threads/offer.h"

namespace coll {

// Which pieces of an offer JavaScript can detach: memory of an ArrayBuffer, but not of a
// SharedArrayBuffer.
struct Detachable {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
};

// Memory for staging buffers. First uses memory of the group, which other ranks can access, then
// memory of this process. Returned memory is kept for later buffers. Used by one thread.
class StagingPool {
 public:
  void share(std::shared_ptr<SharedMemory> memory) { shared_ = std::move(memory); }
  // Releases the memory of the group. Memory taken from it need not be returned.
  void unshare() { shared_.reset(); }
  // Whether this is memory of the group, which JavaScript cannot detach.
  bool is_shared(const void* address, std::size_t bytes) const { return shared_ && shared_->has(address, bytes); }

  // Number of bytes copied, in and out, if a call is staged.
  std::size_t copied_bytes(const Offer& offer, const Detachable& detachable) const;

  // Allocates memory, aligned to a cache line. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  void give(std::byte* memory);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Allocation {
    std::unique_ptr<std::byte[], Free> memory;
    std::size_t bytes;
  };

  std::byte* take_own(std::size_t bytes);

  std::shared_ptr<SharedMemory> shared_;
  std::vector<Allocation> taken_;
  std::vector<Allocation> kept_;
};

// While it exists, replaces the memory of an offer that JavaScript can detach. Inputs are copied by
// the constructor, outputs by deliver(); the thread that owns the memory calls both.
class StagingBuffer {
 public:
  // `is_under_way`: the outputs may already hold a part of the result.
  StagingBuffer(std::shared_ptr<StagingPool> pool, Offer& offer, const Detachable& detachable, bool is_under_way);
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  bool is_empty() const { return inputs_.empty() && outputs_.empty(); }
  // Copies the result to the outputs of the offer, whose memory must still exist.
  void deliver() const;
  // Leaves the memory to other ranks that may still access it.
  void abandon() { memory_ = nullptr; }
  // Whether this call writes memory that is an input of the other offer.
  bool is_read_by(const Offer& other) const;

 private:
  struct Copy {
    std::size_t index;
    std::byte* own;
    std::size_t bytes;
    std::size_t offset;  // in the staged memory
  };

  std::size_t place(const Detachable& detachable);
  const Copy* input_at(const std::byte* own, std::size_t bytes) const;

  const std::shared_ptr<StagingPool> pool_;
  Offer& offer_;
  std::byte* memory_ = nullptr;
  std::vector<Copy> inputs_;
  std::vector<Copy> outputs_;
};

}  // namespace coll

#endif
