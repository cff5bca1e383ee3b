#if defined(__linux__)

#include "checksummed_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../kernels/crc32c.h"
#include "../linux/socket_parts.h"

namespace coll {
namespace {

constexpr int kMostParts = 64;
// The buffer of received bytes grows if a record needs more.
constexpr std::size_t kFirstRoom = 4 * 1024;

using Header = ChecksummedStream::Header;

std::uint32_t checksum_of(const Header& header, std::uint64_t number) {
  const std::uint32_t crc = crc32c(0, reinterpret_cast<const std::byte*>(&number), sizeof number);
  return crc32c(crc, reinterpret_cast<const std::byte*>(&header), offsetof(Header, of_header));
}

}  // namespace

ssize_t ChecksummedStream::send(const iovec* parts, int count) {
  std::size_t sent = 0;
  PartsCursor cursor(parts, count);
  while (!cursor.is_at_end()) {
    if (!has_unsent()) begin_record(cursor);
    const ssize_t taken = send_some(cursor);
    if (taken < 0) return sent > 0 ? static_cast<ssize_t>(sent) : -1;
    cursor.pass(static_cast<std::size_t>(taken));
    sent += static_cast<std::size_t>(taken);
    // The parts may end within a record that an earlier call has begun.
    if (has_unsent()) break;
  }
  return static_cast<ssize_t>(sent);
}

void ChecksummedStream::begin_record(const PartsCursor& cursor) {
  iovec parts[kMostParts];
  const int count = cursor.list(kMostBytes, parts, kMostParts);
  header_ = {};
  for (int i = 0; i < count; ++i) {
    header_.bytes += static_cast<std::uint32_t>(parts[i].iov_len);
    header_.of_bytes = crc32c(header_.of_bytes, static_cast<const std::byte*>(parts[i].iov_base), parts[i].iov_len);
  }
  header_.of_header = checksum_of(header_, sent_records_++);
  header_left_ = sizeof header_;
  bytes_left_ = header_.bytes;
}

// Sends as much of the record as the system takes. Returns the number of bytes of the caller among
// that; -1 with errno if the connection has failed.
ssize_t ChecksummedStream::send_some(const PartsCursor& cursor) {
  iovec parts[1 + kMostParts];
  int count = 0;
  if (header_left_ > 0) parts[count++] = {reinterpret_cast<std::byte*>(&header_ + 1) - header_left_, header_left_};
  count += cursor.list(bytes_left_, parts + count, kMostParts);
  ssize_t sent = 0;
  do {
    sent = send_parts(socket_, parts, count);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return must_wait(errno) ? 0 : -1;
  const std::size_t of_header = std::min(static_cast<std::size_t>(sent), header_left_);
  const std::size_t of_bytes = static_cast<std::size_t>(sent) - of_header;
  header_left_ -= of_header;
  bytes_left_ -= of_bytes;
  return static_cast<ssize_t>(of_bytes);
}

ssize_t ChecksummedStream::receive(const iovec* parts, int count) {
  std::size_t received = 0;
  PartsCursor cursor(parts, count);
  for (bool is_drained = false; !cursor.is_at_end();) {
    std::size_t part = 0;
    if (verified_ > 0) {
      part = std::min(verified_, cursor.bytes());
      std::memcpy(cursor.at(), in_.data() + in_begin_, part);
      in_begin_ += part;
      verified_ -= part;
    } else if (!verify()) {
      if (has_failed_ || received > 0 || is_drained) break;
      part = fill_in_place(cursor, is_drained);
    }
    cursor.pass(part);
    received += part;
  }
  has_more_ = received > 0 && (has_failed_ || cursor.is_at_end());
  if (received > 0 || !has_failed_) return static_cast<ssize_t>(received);
  errno = error_;
  return -1;
}

// Returns whether the header of the next record has arrived. If it was altered, the stream has failed.
bool ChecksummedStream::take_header() {
  if (has_failed_ || has_header_ || in_end_ - in_begin_ < sizeof incoming_) return has_header_;
  std::memcpy(&incoming_, in_.data() + in_begin_, sizeof incoming_);
  in_begin_ += sizeof incoming_;
  has_header_ = incoming_.of_header == checksum_of(incoming_, received_records_++) && incoming_.bytes > 0 && incoming_.bytes <= kMostBytes;
  if (!has_header_) fail(EBADMSG);
  return has_header_;
}

// Returns whether the next record has arrived. If it was altered, the stream has failed.
bool ChecksummedStream::verify() {
  if (!take_header() || in_end_ - in_begin_ < incoming_.bytes) return false;
  const iovec part{in_.data() + in_begin_, incoming_.bytes};
  if (is_right(&part, 1)) verified_ = incoming_.bytes;
  return verified_ > 0;
}

// Whether these are the bytes of the record that is being received.
bool ChecksummedStream::is_right(const iovec* parts, int count) {
  std::uint32_t crc = 0;
  for (int i = 0; i < count; ++i) crc = crc32c(crc, static_cast<const std::byte*>(parts[i].iov_base), parts[i].iov_len);
  has_header_ = false;
  if (crc != incoming_.of_bytes) fail(EBADMSG);
  return !has_failed_;
}

// Receives from the socket: a record that has arrived as a whole directly into the caller's memory,
// if it fits, and anything else into the buffer. Returns the number of bytes in the caller's memory.
// `is_drained`: whether the socket has no more.
std::size_t ChecksummedStream::fill_in_place(const PartsCursor& cursor, bool& is_drained) {
  iovec parts[kMostParts + 1];
  const int count = has_header_ && in_begin_ == in_end_ ? cursor.list(incoming_.bytes, parts, kMostParts) : 0;
  std::size_t room = 0;
  for (int i = 0; i < count; ++i) room += parts[i].iov_len;
  if (count == 0 || room < incoming_.bytes) {
    is_drained = !fill();
    return 0;
  }
  in_begin_ = in_end_ = 0;
  // The header of the next record, too.
  parts[count] = {in_.data(), sizeof(Header)};
  const ssize_t received = receive_some(parts, count + 1);
  const std::size_t bytes = static_cast<std::size_t>(std::max<ssize_t>(received, 0));
  is_drained = bytes < room + sizeof(Header);
  if (bytes >= room) {
    in_end_ = bytes - room;
    return is_right(parts, count) ? room : 0;
  }
  // The caller may offer other memory next time.
  in_.resize(std::max(in_.size(), room + sizeof(Header)));
  for (int i = 0; in_end_ < bytes; ++i) {
    const std::size_t part = std::min(parts[i].iov_len, bytes - in_end_);
    std::memcpy(in_.data() + in_end_, parts[i].iov_base, part);
    in_end_ += part;
  }
  return 0;
}

// Receives into the buffer as much as there is room for. Returns whether there may be more.
bool ChecksummedStream::fill() {
  in_.resize(std::max({in_.size(), kFirstRoom, has_header_ ? incoming_.bytes + sizeof(Header) : 0}));
  std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
  in_end_ -= in_begin_;
  in_begin_ = 0;
  iovec room{in_.data() + in_end_, in_.size() - in_end_};
  const ssize_t received = receive_some(&room, 1);
  if (received > 0) in_end_ += static_cast<std::size_t>(received);
  return received == static_cast<ssize_t>(room.iov_len);
}

// Receives from the socket. Returns the number of bytes; 0 or -1 if there are none now, or the
// connection has ended.
ssize_t ChecksummedStream::receive_some(iovec* parts, int count) {
  ssize_t received = 0;
  do {
    received = receive_parts(socket_, parts, count);
  } while (received < 0 && errno == EINTR);
  if (received == 0) fail(0);
  else if (received < 0 && !must_wait(errno)) fail(errno);
  return received;
}

void ChecksummedStream::fail(int error) {
  has_failed_ = true;
  error_ = error;
}

}  // namespace coll

#endif
