#pragma once

#if defined(__linux__)

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "../clock.h"
#include "../sealing/stream.h"
#include "frames.h"

namespace coll {

// The connection over which one member watches another. Used under the monitor's mutex only.
class ControlConnection {
 public:
  // Takes over a connected, non-blocking socket; -1 for none. With a stream over this socket, all
  // frames are sealed or checksummed. Nothing is sent or believed before the handshake of a sealed
  // one is done.
  explicit ControlConnection(int socket, std::unique_ptr<Stream> stream = nullptr);
  ~ControlConnection() { close(); }
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  bool is_open() const { return socket_ >= 0; }
  int socket() const { return socket_; }
  bool has_unsent() const { return !unsent_.empty(); }
  // Whether the system has not accepted all data that was to be sent.
  bool is_blocked() const { return is_blocked_; }

  // Keeps a frame for the next flush.
  void send(const std::string& frame);
  // Sends as much as the system accepts; later calls send the rest.
  void flush();
  // Reads the data that has arrived. Returns false once the other side has closed the connection.
  bool read();
  // Whether the next read() finds data for which the socket does not become readable.
  bool has_more() const { return stream_ && stream_->has_more(); }
  std::optional<Frame> next() { return reader_.next(); }
  // How long after a network cut of this length the next data of the other side may still be
  // delayed.
  std::chrono::milliseconds delay_after(std::chrono::milliseconds cut) const;
  // Whether something has arrived that is not a frame of the other side.
  bool is_broken() const { return reader_.is_broken() || is_altered_; }
  // Makes the next flushes send the data that still waits, and nothing after that.
  void end();
  void close();

 private:
  enum class Outcome { kMoved, kNothing, kLost };
  Outcome send_some(std::size_t& sent);
  Outcome receive_some(std::size_t& received);

  int socket_;
  std::unique_ptr<Stream> stream_;
  bool is_altered_ = false;
  std::chrono::milliseconds longest_pause_;
  bool has_ended_ = false;
  bool is_blocked_ = false;
  std::string unsent_;
  FrameReader reader_;
};

}  // namespace coll

#endif
