#if defined(__linux__)

#include "control_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "socket_ends.h"

namespace coll {
namespace {

using std::chrono::milliseconds;

// The most unsent bytes that are kept for a peer that reads nothing, until it counts as lost.
constexpr std::size_t kMostUnsent = 64 * kMostFrameBytes;

// The option TCP_RTO_MAX_MS of Linux 6.15, which older headers lack.
constexpr int kLongestRetryMillisOption = 44;
// The smallest value that Linux accepts.
constexpr int kLongestRetryMillis = 1000;

// Time for retransmitted data to reach the other side.
constexpr milliseconds kArrival{500};

// TCP doubles its pause before each retransmission, so that after a cut of some seconds it may stay
// silent for as long again. Shortens the longest pause and returns it; 0 within a host, where no
// cut loses data.
milliseconds send_again_soon(int socket) {
  const int on = 1;
  const int longest = kLongestRetryMillis;
  setsockopt(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof on);
  const bool is_bounded = setsockopt(socket, IPPROTO_TCP, kLongestRetryMillisOption, &longest, sizeof longest) == 0;
  if (!is_tcp(socket) || is_within_host(socket)) return milliseconds(0);
  return is_bounded ? milliseconds(longest) : milliseconds::max();
}

}  // namespace

ControlConnection::ControlConnection(int socket, std::unique_ptr<Stream> stream)
    : socket_(socket), stream_(std::move(stream)), longest_pause_(is_open() ? send_again_soon(socket) : milliseconds(0)) {}

milliseconds ControlConnection::delay_after(milliseconds cut) const {
  return longest_pause_ == milliseconds(0) ? longest_pause_ : std::min(longest_pause_, cut) + kArrival;
}

void ControlConnection::send(const std::string& frame) {
  if (!is_open() || has_ended_ || unsent_.size() + frame.size() > kMostUnsent) return;
  unsent_ += frame;
}

void ControlConnection::flush() {
  is_blocked_ = false;
  while (is_open() && !unsent_.empty()) {
    std::size_t sent = 0;
    const Outcome outcome = send_some(sent);
    if (outcome == Outcome::kNothing) {
      // Without encrypted bytes, a sealed stream waits for the other side.
      is_blocked_ = !stream_ || stream_->has_unsent();
      return;
    }
    // An error is not handled here, because reading the connection reports it.
    unsent_.erase(0, outcome == Outcome::kLost ? unsent_.size() : sent);
  }
  if (!is_open() || !has_ended_) return;
  if (stream_) stream_->end();
  ::shutdown(socket_, SHUT_WR);
}

ControlConnection::Outcome ControlConnection::send_some(std::size_t& sent) {
  ssize_t count = 0;
  if (stream_) {
    const iovec part{unsent_.data(), unsent_.size()};
    count = stream_->send(&part, 1);
  } else {
    do {
      count = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) count = 0;
  }
  if (count < 0) return Outcome::kLost;
  sent = static_cast<std::size_t>(count);
  return sent > 0 ? Outcome::kMoved : Outcome::kNothing;
}

bool ControlConnection::read() {
  if (reader_.room_bytes() == 0) return true;
  std::size_t received = 0;
  const Outcome outcome = receive_some(received);
  reader_.add(received);
  return outcome != Outcome::kLost;
}

ControlConnection::Outcome ControlConnection::receive_some(std::size_t& received) {
  ssize_t count = 0;
  if (stream_) {
    const iovec room{reader_.room(), reader_.room_bytes()};
    count = stream_->receive(&room, 1);
    is_altered_ = is_altered_ || (count < 0 && errno == EBADMSG);
    if (count == 0) return Outcome::kNothing;
  } else {
    count = ::recv(socket_, reader_.room(), reader_.room_bytes(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Outcome::kNothing;
  }
  if (count <= 0) return Outcome::kLost;
  received = static_cast<std::size_t>(count);
  return Outcome::kMoved;
}

void ControlConnection::end() { has_ended_ = true; }

void ControlConnection::close() {
  stream_.reset();
  if (is_open()) ::close(socket_);
  socket_ = -1;
}

}  // namespace coll

#endif
