#pragma once

#if defined(__linux__)

#include <sys/uio.h>

#include <cstddef>
#include <memory>

namespace coll {

// The bytes that have arrived from a peer and were not used yet. The address of each byte equals
// its position in the stream modulo a cache line, so that elements are aligned.
class Inbox {
 public:
  explicit Inbox(std::size_t bytes) : bytes_(bytes) {}

  const std::byte* data() const { return memory() + head_; }
  std::size_t size() const { return tail_ - head_; }
  // The memory for the next bytes; empty if there is no room.
  iovec room();
  void add(std::size_t bytes);
  // For an empty inbox, if `bytes` bytes are received elsewhere. room_after(): the memory for the
  // bytes that follow. pass(): records that those bytes were received.
  iovec room_after(std::size_t bytes);
  void pass(std::size_t bytes);
  void drop(std::size_t bytes);

 private:
  void make();
  std::byte* memory() const;

  const std::size_t bytes_;
  std::unique_ptr<std::byte[]> block_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace coll

#endif
