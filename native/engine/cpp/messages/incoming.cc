#include "incoming.h"

#if defined(__linux__)

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../tuning.h"

namespace coll {
namespace {

constexpr int kMostScattered = 32;

}  // namespace

void Incoming::begin(const Peer& peer, const MessageProgram& program, Values& values, const MessageHeader& header, bool has_header) {
  peer_ = &peer;
  program_ = &program;
  values_ = &values;
  header_ = header;
  has_header_ = !has_header;
  disagrees_ = false;
  is_garbled_ = false;
  index_ = 0;
  look_at_step();
}

void Incoming::look_at_step() {
  placed_ = 0;
  if (!has_message()) return;
  const MessageStep& step = program_->steps[peer_->received[index_]];
  const Operand* operand = program_->operands.data() + step.operands.first;
  while (operand->rank != peer_->rank) ++operand;
  element_bytes_ = byte_size(dtype_of(*program_, operand->form));
}

bool Incoming::open() {
  if (is_done()) return false;
  const std::size_t dropped = std::min(padding_, inbox_.size());
  inbox_.drop(dropped);
  padding_ -= dropped;
  if (padding_ > 0) return false;
  if (has_header_) return !disagrees_ && has_message();
  if (inbox_.size() < sizeof(MessageHeader)) return false;
  MessageHeader header;
  std::memcpy(&header, inbox_.data(), sizeof header);
  inbox_.drop(sizeof header);
  has_header_ = true;
  disagrees_ = !(header == header_);
  is_garbled_ = !header.is_plausible_beside(header_);
  return !disagrees_ && has_message();
}

ssize_t Incoming::take(const iovec* parts, int count) {
  const ssize_t received = channel_.receive(parts, count);
  is_starved_ = received == 0;
  if (received >= 0) return received;
  has_ended_ = true;
  error_ = errno;
  return 0;
}

// Whether bytes of the current message have not arrived. A peer that has sent everything may be
// gone before this rank has used its data.
bool Incoming::lacks_bytes() const {
  if (!has_header_) return inbox_.size() < padding_ + sizeof(MessageHeader);
  if (!has_message()) return inbox_.size() < padding_;
  const std::size_t bytes = values_->count(value()) * element_bytes_;
  return inbox_.size() + placed_ < padding_ + bytes + padding_after(bytes);
}

ssize_t Incoming::receive(std::size_t writable) {
  const ssize_t received = has_ended_ ? 0 : receive_more(writable);
  if (!has_ended_ || !lacks_bytes()) return received;
  errno = error_;
  return -1;
}

ssize_t Incoming::receive_more(std::size_t writable) {
  is_starved_ = false;
  if (has_header_ && is_copy() && inbox_.size() == 0) {
    const std::size_t most = writable * element_bytes_;
    if (placed_ < most) return receive_in_place(std::min(most - placed_, tuning::kReceivedBytes));
    if (placed_ < values_->bytes(value())) return 0;
  }
  iovec room = inbox_.room();
  if (room.iov_len == 0) return 0;
  // Of a large copy, only the beginning goes through the inbox.
  if (!has_header_ && is_copy() && values_->bytes(value()) > tuning::kShortBytes) room.iov_len = std::min(room.iov_len, tuning::kShortBytes);
  // Does not receive the bytes that follow, which belong to the next collective.
  if (has_header_ && !has_message()) room.iov_len = std::min(room.iov_len, padding_ - inbox_.size());
  const ssize_t received = take(&room, 1);
  if (received > 0) inbox_.add(static_cast<std::size_t>(received));
  return received;
}

// Receives the current message directly into the memory of its value.
ssize_t Incoming::receive_in_place(std::size_t bytes) {
  std::byte padding[8];
  iovec parts[kMostScattered + 2];
  int count = 0;
  if (padding_ > 0) parts[count++] = {padding, padding_};
  std::size_t at = placed_;
  while (at < placed_ + bytes && count < kMostScattered) {
    const Values::MemoryRange range = values_->range_at(value(), at / element_bytes_);
    const std::size_t skipped = at % element_bytes_;
    const std::size_t part = std::min(range.count * element_bytes_ - skipped, placed_ + bytes - at);
    parts[count++] = {range.at + skipped, part};
    at += part;
  }
  const std::size_t ahead = padding_ + at - placed_;
  if (at == values_->bytes(value())) {
    iovec rest = inbox_.room_after(ahead);
    if (at - placed_ >= tuning::kShortBytes) rest.iov_len = padding_after(at);
    if (rest.iov_len > 0) parts[count++] = rest;
  }
  const ssize_t received = take(parts, count);
  if (received <= 0) return received;
  const std::size_t size = static_cast<std::size_t>(received);
  inbox_.pass(std::min(size, ahead));
  if (size > ahead) inbox_.add(size - ahead);
  const std::size_t of_padding = std::min(size, padding_);
  padding_ -= of_padding;
  advance(std::min(size, ahead) - of_padding);
  return received;
}

void Incoming::advance(std::size_t bytes) {
  placed_ += bytes;
  values_->set_ready(value(), placed_ / element_bytes_);
}

std::size_t Incoming::copy(std::size_t writable) {
  std::size_t copied = 0;
  while (inbox_.size() > 0 && placed_ < writable * element_bytes_) {
    const Values::MemoryRange range = values_->range_at(value(), placed_ / element_bytes_);
    const std::size_t skipped = placed_ % element_bytes_;
    const std::size_t part = std::min({range.count * element_bytes_ - skipped, writable * element_bytes_ - placed_, inbox_.size()});
    coll::copy(range.at + skipped, inbox_.data(), part);
    inbox_.drop(part);
    advance(part);
    copied += part;
  }
  return copied;
}

void Incoming::finish() {
  padding_ += padding_after(values_->count(value()) * element_bytes_);
  ++index_;
  look_at_step();
}

}  // namespace coll

#endif
