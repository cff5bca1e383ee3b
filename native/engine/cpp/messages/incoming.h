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

// The messages from a peer. A value that is only copied is received into its final memory; a value
// that will be combined waits in the inbox.
class Incoming {
 public:
  Incoming(Channel& channel, std::size_t inbox_bytes) : channel_(channel), inbox_(inbox_bytes) {}

  // `has_header`: the peer sends a header. It does so if it sends messages.
  void begin(const Peer& peer, const MessageProgram& program, Values& values, const MessageHeader& header, bool has_header);
  // Done means that the padding has arrived, too: if a connection is closed with unread bytes, the
  // system resets it and drops data that is still on its way to the peer.
  bool is_done() const { return has_header_ && !disagrees_ && !has_message() && inbox_.size() >= padding_; }
  // Whether the header has arrived, or the peer sends none.
  bool has_header() const { return has_header_; }
  // Whether the channel was empty at the last attempt to receive.
  bool is_starved() const { return is_starved_; }
  // Whether the peer asks for something other than this rank, or its stream is corrupt.
  bool disagrees() const { return disagrees_; }
  // Whether a header arrived that no member can have sent here: another program writes to the
  // connection, or data is corrupted.
  bool is_garbled() const { return is_garbled_; }
  bool has_message() const { return index_ < peer_->received.size(); }
  // The step that uses the current message.
  std::size_t step() const { return peer_->received[index_]; }

  // Receives the data that is in the channel; for a copy, only elements below `writable`. Returns
  // the number of bytes; -1 if the peer is lost.
  ssize_t receive(std::size_t writable);
  // Opens the current message as soon as that is possible, so that its elements can be used.
  bool open();
  // For an open message. available(): the number of elements that have arrived and were not used.
  // elements(): the first of them. use(): marks some as used.
  std::size_t available() const { return inbox_.size() / element_bytes_; }
  const std::byte* elements() const { return inbox_.data(); }
  void use(std::size_t count) {
    inbox_.drop(count * element_bytes_);
    placed_ += count * element_bytes_;
  }
  // For an open message that is a copy: moves arrived elements below `writable` to their final
  // memory. Returns the number of bytes.
  std::size_t copy(std::size_t writable);
  // Continues with the next message. The current message must be used up.
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
  bool has_ended_ = false;  // the channel has ended, with an error or 0
  int error_ = 0;
  std::size_t index_ = 0;          // the current message
  std::size_t element_bytes_ = 1;  // of the current message
  std::size_t placed_ = 0;         // bytes of the current message that are in their place, or used
  std::size_t padding_ = 0;        // bytes to skip before anything else
  Inbox inbox_;
};

}  // namespace coll

#endif
