#pragma once

#if defined(__linux__)

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parts_cursor.h"
#include "stream.h"

namespace coll {

// A stream in records with checksums, for a network that damages bytes. It is no protection against
// attackers, who can compute a checksum. A record consists of a header and its bytes.
class ChecksummedStream final : public Stream {
 public:
  // The most bytes of a record, apart from its header.
  static constexpr std::size_t kMostBytes = 64 * 1024;
  // Little-endian. Its checksum includes the number of the record in the stream, from 0, so that no
  // record can be lost or repeated.
  struct Header {
    std::uint32_t bytes;      // of the record, apart from the header
    std::uint32_t of_bytes;   // CRC32C of these bytes
    std::uint32_t of_header;  // CRC32C of the number of the record, and of both words above
  };

  // The caller keeps the socket, which must exist as long as the stream.
  explicit ChecksummedStream(int socket) : socket_(socket) {}
  ChecksummedStream(const ChecksummedStream&) = delete;
  ChecksummedStream& operator=(const ChecksummedStream&) = delete;

  ssize_t send(const iovec* parts, int count) override;
  ssize_t receive(const iovec* parts, int count) override;
  void end() override {}
  bool has_more() const override { return has_more_; }
  bool has_unsent() const override { return header_left_ + bytes_left_ > 0; }

 private:
  void begin_record(const PartsCursor& cursor);
  ssize_t send_some(const PartsCursor& cursor);
  bool take_header();
  bool verify();
  bool fill();
  std::size_t fill_in_place(const PartsCursor& cursor, bool& is_drained);
  ssize_t receive_some(iovec* parts, int count);
  bool is_right(const iovec* parts, int count);
  void fail(int error);

  const int socket_;
  // The record that is being sent, and how much of it the system has not taken.
  std::uint64_t sent_records_ = 0;
  Header header_{};
  std::size_t header_left_ = 0;
  std::size_t bytes_left_ = 0;
  // The record that is being received, from the arrival of its header on.
  std::uint64_t received_records_ = 0;
  Header incoming_{};
  bool has_header_ = false;
  // Received bytes. The first `verified_` belong to a record that is complete and not altered.
  std::vector<std::byte> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  std::size_t verified_ = 0;
  bool has_more_ = false;
  bool has_failed_ = false;
  int error_ = 0;
};

}  // namespace coll

#endif
