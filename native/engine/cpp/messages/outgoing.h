#pragma once

#if defined(__linux__)

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "channel.h"
#include "message_program.h"
#include "values.h"

namespace coll {

// The header that a rank sends to a peer at the start of a collective, before its messages. Every
// header and message begins at a multiple of eight bytes of the stream.
struct MessageHeader {
  static constexpr std::uint32_t kMagic = 0x6c6c6f63;  // "coll"
  std::uint32_t magic = kMagic;
  std::uint32_t generation = 0;
  std::uint64_t sequence = 0;  // the number of the collective, counted by each rank
  std::uint64_t fingerprint = 0;
  std::uint64_t reserved = 0;

  // Whether a member of the same group can send this header at this position of its stream, even if
  // for another collective.
  bool is_plausible_beside(const MessageHeader& other) const {
    return magic == other.magic && generation == other.generation && sequence == other.sequence && reserved == other.reserved;
  }
  bool operator==(const MessageHeader& other) const { return is_plausible_beside(other) && fingerprint == other.fingerprint; }
};
static_assert(sizeof(MessageHeader) == 32, "the same for both ends");

// Padding bytes between a message and the next one.
constexpr std::size_t padding_after(std::size_t bytes) { return (8 - bytes % 8) % 8; }

// The number of bytes sent before receiving continues. Small bursts keep the data that is being
// combined in the cache.
struct Burst {
  std::size_t bytes;
  std::size_t call_bytes;  // by one system call
};

// When a rank sends its header to a peer: at once, after release(), or never. Messages are sent
// after the header.
enum class HeaderTime : std::uint8_t { kAtOnce, kOnRelease, kNever };

// The messages to a peer. They are sent as their elements become ready.
class Outgoing {
 public:
  Outgoing(Channel& channel, const Burst& burst) : channel_(channel), burst_(burst) {}

  void begin(const Peer& peer, const Values& values, const MessageHeader& header, HeaderTime time);
  // Lets the header leave, if its time is kOnRelease.
  void release() { is_held_ = false; }
  bool is_done() const { return header_left_ == 0 && index_ == peer_->sent.size(); }
  // Whether the channel took less than was ready.
  bool is_blocked() const { return is_blocked_; }
  // Sends all data that is ready. Returns the number of bytes; -1 if the peer is lost.
  ssize_t send();
  // The number of elements of a message that were sent.
  std::size_t sent(std::size_t index) const;

 private:
  struct Gathered;
  void gather(Gathered& gathered) const;
  bool has_all() const;
  bool gather_message(std::size_t index, std::size_t offset, Gathered& gathered) const;
  void advance(std::size_t bytes);
  std::size_t padded_bytes(std::size_t index) const;

  Channel& channel_;
  const Burst burst_;
  const Peer* peer_ = nullptr;
  const Values* values_ = nullptr;
  MessageHeader header_;
  std::size_t header_left_ = 0;
  std::size_t index_ = 0;   // the message that is sent now
  std::size_t offset_ = 0;  // how much of it was sent
  bool is_held_ = false;
  bool is_blocked_ = false;
};

}  // namespace coll

#endif
