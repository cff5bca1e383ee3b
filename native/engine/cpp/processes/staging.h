#pragma once

#if defined(__linux__)

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "../shared/shared_memory.h"
#include "../threads/offer.h"

namespace coll {

// Which pieces of an offer are memory that can be taken away: that of an ArrayBuffer can, that of a SharedArrayBuffer cannot.
struct Losable {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
};

// Memory in which calls are executed in place of what their owner may take away meanwhile. It is that of the group, which the others see,
// as long as there is room; otherwise memory of this process. What is given back is kept for the next ones. For one thread.
class Staging {
 public:
  void share(std::shared_ptr<SharedMemory> memory) { shared_ = std::move(memory); }
  // Lets go of it. What was taken there is not given back.
  void unshare() { shared_.reset(); }
  // Whether it is memory of the group, which nobody can take away.
  bool is_shared(const void* address, std::size_t bytes) const { return shared_ && shared_->has(address, bytes); }

  // Number of bytes copied, in and out, if the call is executed here.
  std::size_t copied_bytes(const Offer& offer, const Losable& losable) const;

  // At the begin of a cache line; throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  void give(std::byte* memory);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Block {
    std::unique_ptr<std::byte[], Free> memory;
    std::size_t bytes;
  };

  std::byte* take_own(std::size_t bytes);

  std::shared_ptr<SharedMemory> shared_;
  std::vector<Block> taken_;
  std::vector<Block> kept_;
};

// A call that is executed in staging: until this ends, the offer's losable memory is there. Inputs are copied when this begins, outputs when
// they are delivered, both by the thread of their owner.
class Stage {
 public:
  // `is_under_way`: the outputs may hold a part of the result.
  Stage(std::shared_ptr<Staging> staging, Offer& offer, const Losable& losable, bool is_under_way);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  bool is_empty() const { return inputs_.empty() && outputs_.empty(); }
  // Writes the result to where it belongs, which must still be there.
  void deliver() const;
  // Leaves the memory to whoever may still work on it.
  void abandon() { memory_ = nullptr; }
  // Whether an input of another offer is memory that this one is going to write.
  bool is_read_by(const Offer& other) const;

 private:
  struct Piece {
    std::size_t index;
    std::byte* own;
    std::size_t bytes;
    std::size_t offset;  // in the staged memory
  };

  std::size_t place(const Losable& losable);
  const Piece* input_at(const std::byte* own, std::size_t bytes) const;

  const std::shared_ptr<Staging> staging_;
  Offer& offer_;
  std::byte* memory_ = nullptr;
  std::vector<Piece> inputs_;
  std::vector<Piece> outputs_;
};

}  // namespace coll

#endif
