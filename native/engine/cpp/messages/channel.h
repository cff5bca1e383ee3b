#pragma once

#if defined(__linux__)

#include <poll.h>
#include <sys/uio.h>

#include <cstddef>

namespace coll {

// Bytes to and from one other rank, in order. Never waits.
class Channel {
 public:
  virtual ~Channel() = default;
  // How many bytes went; 0 where none can now; -1, with errno, where the other side is lost.
  virtual ssize_t send(const iovec* parts, int count) = 0;
  // How many bytes came; 0 where there are none now; -1, with errno or 0 at the end of the stream, where the other side is lost.
  virtual ssize_t receive(const iovec* parts, int count) = 0;
  // The socket that tells when to try again; negative where the channel is in memory.
  virtual int socket_to_send() const = 0;
  virtual int socket_to_receive() const = 0;
  // Of a channel in memory: sleeps until the other side has sent or received something, or for so long; may return early.
  virtual void sleep(int millis) = 0;
  // The core on which the other side last sent something, where it is on this host; negative where that is not known.
  virtual int core_of_peer() const { return -1; }
};

}  // namespace coll

#endif
