#pragma once

#if defined(__linux__)

#include <atomic>
#include <cstdint>

#include "../cache_line.h"
#include "channel.h"

namespace coll {

// A stream of bytes in each direction between two processes of a host, through shared memory.
class RingChannel : public Channel {
 public:
  // Both ends use the same memory. It must begin at a cache line, be zero before the first end is
  // made, and outlive both. Exactly one end is the lower one. Throws Error below 16 KiB. Does not
  // detect that the other process has ended.
  RingChannel(std::byte* memory, std::size_t bytes, bool is_lower);

  ssize_t send(const iovec* parts, int count) override;
  ssize_t receive(const iovec* parts, int count) override;
  pollfd polled_to_send() const override { return {-1, 0, 0}; }
  pollfd polled_to_receive() const override { return {-1, 0, 0}; }
  void sleep(int millis) override;

 private:
  // One direction: the numbers of bytes ever written and ever read. Each is changed by one end; the
  // difference is the number of bytes in the ring.
  struct Ring {
    alignas(kCacheLine) std::atomic<std::uint64_t> written;
    alignas(kCacheLine) std::atomic<std::uint64_t> read;
  };

  // An end that may be asleep. An end that changes a ring checks `is_asleep` afterwards; an end
  // that falls asleep sets it first and then checks the rings. These operations are sequentially
  // consistent, so that at least one end sees the other.
  struct alignas(kCacheLine) Bell {
    std::atomic<std::uint32_t> rung;
    std::atomic<std::uint32_t> is_asleep;
  };

  struct Shared {
    Ring rings[2];
    Bell bells[2];
  };

  void wake_other();

  std::size_t capacity_;
  Ring* out_;
  Ring* in_;
  Bell* own_bell_;
  Bell* other_bell_;
  std::byte* out_bytes_;
  std::byte* in_bytes_;
  // Bytes that this end has written and read, and the last known positions of the other end.
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t known_read_ = 0;
  std::uint64_t known_written_ = 0;
};

}  // namespace coll

#endif
