#include "outgoing.h"

#if defined(__linux__)

#include <algorithm>

#include "../tuning.h"

namespace coll {
namespace {

constexpr int kMostGathered = 32;

constexpr std::byte kPadding[8]{};

}  // namespace

struct Outgoing::Gathered {
  const std::size_t most_bytes;
  iovec parts[kMostGathered];
  int count = 0;
  std::size_t bytes = 0;

  explicit Gathered(std::size_t most) : most_bytes(most) {}
  bool is_full() const { return count == kMostGathered || bytes >= most_bytes; }
  void add(const void* at, std::size_t size) {
    parts[count++] = {const_cast<void*>(at), size};
    bytes += size;
  }
};

void Outgoing::begin(const Peer& peer, const Values& values, const MessageHeader& header, HeaderTime time) {
  peer_ = &peer;
  values_ = &values;
  header_ = header;
  header_left_ = time == HeaderTime::kNever ? 0 : sizeof header_;
  is_held_ = time == HeaderTime::kOnRelease;
  index_ = 0;
  offset_ = 0;
  is_blocked_ = false;
}

std::size_t Outgoing::padded_bytes(std::size_t index) const {
  const std::size_t bytes = values_->bytes(peer_->sent[index]);
  return bytes + padding_after(bytes);
}

std::size_t Outgoing::sent(std::size_t index) const {
  const std::size_t value = peer_->sent[index];
  if (index < index_) return values_->count(value);
  if (index > index_) return 0;
  return std::min(offset_ / values_->element_bytes(value), values_->count(value));
}

ssize_t Outgoing::send() {
  ssize_t total = 0;
  is_blocked_ = false;
  while (!is_done()) {
    Gathered gathered(burst_.call_bytes);
    gather(gathered);
    ssize_t sent = 0;
    if (gathered.count > 0) {
      sent = channel_.send(gathered.parts, gathered.count);
      if (sent < 0) return -1;
      total += sent;
    }
    advance(static_cast<std::size_t>(sent));
    is_blocked_ = static_cast<std::size_t>(sent) < gathered.bytes;
    if (gathered.count == 0 || is_blocked_ || total >= static_cast<ssize_t>(burst_.bytes)) break;
  }
  return total;
}

void Outgoing::gather(Gathered& gathered) const {
  if (is_held_) return;
  if (peer_->leaves_whole && header_left_ == sizeof header_ && !has_all()) return;
  if (header_left_ > 0) gathered.add(reinterpret_cast<const std::byte*>(&header_ + 1) - header_left_, header_left_);
  std::size_t offset = offset_;
  for (std::size_t index = index_; index < peer_->sent.size() && !gathered.is_full(); ++index) {
    if (!gather_message(index, offset, gathered)) break;
    offset = 0;
  }
}

bool Outgoing::has_all() const {
  return std::all_of(peer_->sent.begin(), peer_->sent.end(), [this](std::size_t value) { return values_->is_whole(value); });
}

// Returns whether the rest of the message was gathered.
bool Outgoing::gather_message(std::size_t index, std::size_t offset, Gathered& gathered) const {
  const std::size_t value = peer_->sent[index];
  const std::size_t size = values_->element_bytes(value);
  const std::size_t bytes = values_->bytes(value);
  const std::size_t ready = values_->ready(value) * size;
  if (ready < bytes && ready < offset + tuning::kLeastReadyBytes) return false;
  while (offset < ready) {
    if (gathered.is_full()) return false;
    const Values::MemoryRange range = values_->range_at(value, offset / size);
    const std::size_t skipped = offset % size;
    const std::size_t part = std::min({range.count * size - skipped, ready - offset, gathered.most_bytes - gathered.bytes});
    gathered.add(range.at + skipped, part);
    offset += part;
  }
  if (ready < bytes) return false;
  if (offset < padded_bytes(index)) {
    if (gathered.count == kMostGathered) return false;
    gathered.add(kPadding, padded_bytes(index) - offset);
  }
  return true;
}

void Outgoing::advance(std::size_t bytes) {
  const std::size_t of_header = std::min(bytes, header_left_);
  header_left_ -= of_header;
  bytes -= of_header;
  // Messages without elements are sent with the header.
  while (!is_done() && header_left_ == 0) {
    const std::size_t part = std::min(bytes, padded_bytes(index_) - offset_);
    offset_ += part;
    bytes -= part;
    if (offset_ < padded_bytes(index_)) return;
    ++index_;
    offset_ = 0;
  }
}

}  // namespace coll

#endif
