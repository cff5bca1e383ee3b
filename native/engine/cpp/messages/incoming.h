#pragma once

#if defined(__linux__)

#include <sys/types.h>

#include <cstddef>

#include "channel.h"
#include "inbox.h"
#include "message_program.h"
#include "outgoing.h"
#include "values.h"

namespace coll {

// The messages from a peer: copies go where they belong, what is to be combined waits in the inbox.
class Incoming {
 public:
  Incoming(Channel& channel, std::size_t inbox_bytes) : channel_(channel), inbox_(inbox_bytes) {}

  void begin(const Peer& peer, const MessageProgram& program, Values& values, const MessageHeader& header);
  // Padding counts: bytes that nobody reads would make the system reset the connection when it is closed, and drop what is still on its way to the peer.
  bool is_done() const { return has_header_ && !disagrees_ && !has_message() && inbox_.size() >= padding_; }
  bool has_header() const { return has_header_; }
  // Whether the channel had nothing when it was looked at last.
  bool is_starved() const { return is_starved_; }
  // Whether the peer asks for something else than this rank, or its stream is garbled.
  bool disagrees() const { return disagrees_; }
  // Whether a header came that no member sends here: others write to the connection, or it corrupts data.
  bool is_garbled() const { return is_garbled_; }
  bool has_message() const { return index_ < peer_->received.size(); }
  // The step that the message at hand is for.
  std::size_t step() const { return peer_->received[index_]; }

  // Takes from the channel what there is; elements of a copy only as far as `writable`. How much that was; -1 where the peer is lost.
  ssize_t receive(std::size_t writable);
  // Makes the message at hand accessible, once it can be.
  bool open();
  // Of an open message: elements that have come and are not used, the first of them, and that they are used now.
  std::size_t available() const { return inbox_.size() / element_bytes_; }
  const std::byte* elements() const { return inbox_.data(); }
  void use(std::size_t count) {
    inbox_.drop(count * element_bytes_);
    placed_ += count * element_bytes_;
  }
  // Of an open message that is a copy: moves what has come to its place, as far as `writable`. How much that was.
  std::size_t copy(std::size_t writable);
  // Goes to the next message; all of this one is used.
  void finish();

 private:
  bool is_copy() const { return has_message() && program_->steps[step()].operands.count == 1; }
  std::size_t value() const { return program_->steps[step()].value; }
  ssize_t receive_more(std::size_t writable);
  ssize_t receive_in_place(std::size_t bytes);
  ssize_t take(const iovec* parts, int count);
  bool lacks_bytes() const;
  void advance(std::size_t bytes);
  void look_at_step();

  Channel& channel_;
  const Peer* peer_ = nullptr;
  const MessageProgram* program_ = nullptr;
  Values* values_ = nullptr;
  MessageHeader header_;
  bool has_header_ = false;
  bool disagrees_ = false;
  bool is_garbled_ = false;
  bool is_starved_ = false;
  bool has_ended_ = false;  // the channel, with an error or 0
  int error_ = 0;
  std::size_t index_ = 0;          // the message at hand
  std::size_t element_bytes_ = 1;  // of it
  std::size_t placed_ = 0;         // bytes of it that are in their place, or used
  std::size_t padding_ = 0;        // that comes before anything else
  Inbox inbox_;
};

}  // namespace coll

#endif
