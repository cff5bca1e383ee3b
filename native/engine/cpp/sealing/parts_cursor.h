#pragma once

#if defined(__linux__)

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>

namespace coll {

// A position in a list of parts.
class PartsCursor {
 public:
  PartsCursor(const iovec* parts, int count) : part_(parts), end_(parts + count) { pass(0); }

  bool is_at_end() const { return part_ == end_; }
  std::byte* at() const { return static_cast<std::byte*>(part_->iov_base) + offset_; }
  // Bytes up to the end of the part.
  std::size_t bytes() const { return part_->iov_len - offset_; }
  void pass(std::size_t bytes) {
    offset_ += bytes;
    while (part_ != end_ && offset_ >= part_->iov_len) offset_ -= (part_++)->iov_len;
  }
  // Lists the next `bytes`, or fewer, in at most `most` parts. Returns the number of parts.
  int list(std::size_t bytes, iovec* into, int most) const {
    int count = 0;
    for (PartsCursor next = *this; !next.is_at_end() && bytes > 0 && count < most; ++count) {
      into[count] = {next.at(), std::min(next.bytes(), bytes)};
      bytes -= into[count].iov_len;
      next.pass(into[count].iov_len);
    }
    return count;
  }

 private:
  const iovec* part_;
  const iovec* end_;
  std::size_t offset_ = 0;
};

}  // namespace coll

#endif
