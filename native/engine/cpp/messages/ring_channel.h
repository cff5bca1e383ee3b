#pragma once

#if defined(__linux__)

#include <atomic>
#include <cstdint>

#include "../cache_line.h"
#include "channel.h"

namespace coll {

// A stream of bytes each way between two processes of a host, through memory that they share.
class RingChannel : public Channel {
 public:
  // Both ends are given the same memory, which begins at a cache line, was zeros before the first of them, and outlives both. One end is
  // the lower one. Throws Error below 16 KiB. That the other process has ended is not noticed here.
  RingChannel(std::byte* memory, std::size_t bytes, bool is_lower);

  ssize_t send(const iovec* parts, int count) override;
  ssize_t receive(const iovec* parts, int count) override;
  int socket_to_send() const override { return -1; }
  int socket_to_receive() const override { return -1; }
  void sleep(int millis) override;

 private:
  // A direction: bytes ever written and read. One end writes each, and the difference is what is there.
  struct Ring {
    alignas(kCacheLine) std::atomic<std::uint64_t> written;
    alignas(kCacheLine) std::atomic<std::uint64_t> read;
  };

  // An end that may be asleep. Whoever changes a ring looks at `is_asleep` after that; who falls asleep sets it and then looks at the
  // rings. All of it is sequentially consistent, so that one of the two sees the other.
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
  // As far as this end has written and read, and last knew of the other.
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t known_read_ = 0;
  std::uint64_t known_written_ = 0;
};

}  // namespace coll

#endif
