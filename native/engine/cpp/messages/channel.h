#pragma once

#if defined(__linux__)

#include <poll.h>
#include <sys/uio.h>

#include <cstddef>

namespace coll {

// Sends bytes to one other rank and receives bytes from it, in order. Never waits.
class Channel {
 public:
  virtual ~Channel() = default;
  // Returns the number of bytes sent: 0 if none can be sent now; -1, with errno, if the peer is
  // lost.
  virtual ssize_t send(const iovec* parts, int count) = 0;
  // Returns the number of bytes received: 0 if there are none now; -1 if the peer is lost, with
  // errno, or with 0 at the end of the stream.
  virtual ssize_t receive(const iovec* parts, int count) = 0;
  // The descriptor and events to poll before the next attempt; a negative descriptor for a channel
  // in memory.
  virtual pollfd polled_to_send() const = 0;
  virtual pollfd polled_to_receive() const = 0;
  // For a channel in memory: sleeps until the other side has sent or received something, or for
  // `millis`. May return early.
  virtual void sleep(int millis) = 0;
  // The core on which the other side last sent something, if it is on this host; negative if
  // unknown.
  virtual int core_of_peer() const { return -1; }
};

}  // namespace coll

#endif
