#include "inbox.h"

#if defined(__linux__)

#include <cstdint>
#include <cstring>

#include "../cache_line.h"

namespace coll {

std::byte* Inbox::memory() const {
  const std::uintptr_t at = in_cache_lines(reinterpret_cast<std::uintptr_t>(block_.get()));
  return reinterpret_cast<std::byte*>(at);
}

void Inbox::make() {
  if (!block_) block_.reset(new std::byte[bytes_ + kCacheLine]);
}

iovec Inbox::room() {
  make();
  // Moves the contents to the front if little room is left.
  if (head_ >= kCacheLine && bytes_ - tail_ < bytes_ / 4) {
    const std::size_t front = head_ % kCacheLine;
    std::memmove(memory() + front, memory() + head_, size());
    tail_ = front + size();
    head_ = front;
  }
  return {memory() + tail_, bytes_ - tail_};
}

void Inbox::add(std::size_t bytes) { tail_ += bytes; }

iovec Inbox::room_after(std::size_t bytes) {
  make();
  const std::size_t front = (head_ + bytes) % kCacheLine;
  return {memory() + front, bytes_ - front};
}

void Inbox::pass(std::size_t bytes) { head_ = tail_ = (head_ + bytes) % kCacheLine; }

void Inbox::drop(std::size_t bytes) {
  head_ += bytes;
  if (head_ == tail_) head_ = tail_ = head_ % kCacheLine;
}

}  // namespace coll

#endif
