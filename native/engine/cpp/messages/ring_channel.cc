#include "ring_channel.h"

#if defined(__linux__)

#include <algorithm>
#include <cerrno>

#include "../error.h"
#include "../kernels/fold.h"
#include "../threads/waiting.h"

namespace coll {
namespace {

constexpr std::size_t kLeastMemory = 16 * 1024;

// Calls copy(at, bytes, offset) for the ranges of a ring that hold `bytes` from `position` on.
template <class Copy>
void for_each_range(std::byte* ring, std::size_t capacity, std::uint64_t position, std::size_t bytes, Copy copy) {
  const std::size_t at = static_cast<std::size_t>(position % capacity);
  const std::size_t first = std::min(bytes, capacity - at);
  copy(ring + at, first, std::size_t{0});
  if (bytes > first) copy(ring, bytes - first, first);
}

}  // namespace

RingChannel::RingChannel(std::byte* memory, std::size_t bytes, bool is_lower) {
  if (bytes < kLeastMemory) throw Error("a ring needs memory of 16 KiB");
  if (reinterpret_cast<std::uintptr_t>(memory) % kCacheLine != 0) throw Error("a ring's memory begins at a cache line");
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const int own = is_lower ? 0 : 1;
  capacity_ = (bytes - sizeof(Shared)) / 2 / kCacheLine * kCacheLine;
  std::byte* const rings[2] = {memory + sizeof(Shared), memory + sizeof(Shared) + capacity_};
  out_ = &shared.rings[own];
  in_ = &shared.rings[1 - own];
  out_bytes_ = rings[own];
  in_bytes_ = rings[1 - own];
  own_bell_ = &shared.bells[own];
  other_bell_ = &shared.bells[1 - own];
}

ssize_t RingChannel::send(const iovec* parts, int count) {
  known_read_ = out_->read.load(std::memory_order_acquire);
  const std::uint64_t used = written_ - known_read_;
  if (used > capacity_) {
    errno = EPROTO;
    return -1;
  }
  std::size_t room = capacity_ - static_cast<std::size_t>(used);
  std::size_t sent = 0;
  for (int i = 0; i < count && room > 0; ++i) {
    const std::size_t bytes = std::min(parts[i].iov_len, room);
    const auto* const from = static_cast<const std::byte*>(parts[i].iov_base);
    for_each_range(out_bytes_, capacity_, written_ + sent, bytes, [&](std::byte* at, std::size_t part, std::size_t offset) {
      coll::copy(at, from + offset, part);
    });
    sent += bytes;
    room -= bytes;
  }
  if (sent == 0) return 0;
  written_ += sent;
  out_->written.store(written_, std::memory_order_seq_cst);
  wake_other();
  return static_cast<ssize_t>(sent);
}

ssize_t RingChannel::receive(const iovec* parts, int count) {
  known_written_ = in_->written.load(std::memory_order_acquire);
  const std::uint64_t there = known_written_ - read_;
  if (there > capacity_) {
    errno = EPROTO;
    return -1;
  }
  std::size_t left = static_cast<std::size_t>(there);
  std::size_t received = 0;
  for (int i = 0; i < count && left > 0; ++i) {
    const std::size_t bytes = std::min(parts[i].iov_len, left);
    auto* const into = static_cast<std::byte*>(parts[i].iov_base);
    for_each_range(in_bytes_, capacity_, read_ + received, bytes, [&](std::byte* at, std::size_t part, std::size_t offset) {
      coll::copy(into + offset, at, part);
    });
    received += bytes;
    left -= bytes;
  }
  if (received == 0) return 0;
  read_ += received;
  in_->read.store(read_, std::memory_order_seq_cst);
  wake_other();
  return static_cast<ssize_t>(received);
}

void RingChannel::wake_other() {
  if (other_bell_->is_asleep.load(std::memory_order_seq_cst) == 0) return;
  other_bell_->rung.fetch_add(1, std::memory_order_seq_cst);
  unpark(other_bell_->rung, Reach::kHost);
}

void RingChannel::sleep(int millis) {
  const std::uint32_t seen = own_bell_->rung.load(std::memory_order_seq_cst);
  own_bell_->is_asleep.store(1, std::memory_order_seq_cst);
  const bool has_news = in_->written.load(std::memory_order_seq_cst) != known_written_ || out_->read.load(std::memory_order_seq_cst) != known_read_;
  if (!has_news) park(own_bell_->rung, seen, millis, Reach::kHost);
  own_bell_->is_asleep.store(0, std::memory_order_seq_cst);
}

}  // namespace coll

#endif
