#pragma once

#if defined(__linux__)

#include <sys/types.h>
#include <sys/uio.h>

namespace coll {

// A stream of bytes over a connected, non-blocking socket, on which no altered byte is delivered.
// Never waits. Used by one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  // Returns the number of bytes that the system has taken: 0 if it takes none now; -1 with errno if
  // the connection has failed. After a smaller number than that of all parts, the next call must
  // begin with the bytes that are left, unchanged: a part of their record may be sent already.
  virtual ssize_t send(const iovec* parts, int count) = 0;
  // Returns the number of bytes received: 0 if there are none now; -1 with errno if the connection
  // has failed, or with 0 at the end of the stream. EBADMSG: a byte was altered, injected or lost.
  virtual ssize_t receive(const iovec* parts, int count) = 0;
  // Tells the other end that no more bytes follow. Only if all bytes were sent.
  virtual void end() = 0;
  // Whether received bytes are kept here, so that the socket need not become readable again.
  virtual bool has_more() const = 0;
  // Whether bytes wait until the socket takes them.
  virtual bool has_unsent() const = 0;
};

}  // namespace coll

#endif
