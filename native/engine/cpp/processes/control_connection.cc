#if defined(__linux__)

#include "control_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

ControlConnection::ControlConnection(int socket) : socket_(socket), longest_pause_(is_open() ? send_again_soon(socket) : milliseconds(0)) {}

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
    const ssize_t sent = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      is_blocked_ = true;
      return;
    }
    // An error of send() is not handled here, because reading the connection reports it.
    unsent_.erase(0, sent < 0 ? unsent_.size() : static_cast<std::size_t>(sent));
  }
  if (is_open() && has_ended_) ::shutdown(socket_, SHUT_WR);
}

bool ControlConnection::read() {
  if (reader_.room_bytes() == 0) return true;
  const ssize_t count = ::recv(socket_, reader_.room(), reader_.room_bytes(), MSG_DONTWAIT);
  if (count > 0) reader_.add(static_cast<std::size_t>(count));
  if (count >= 0) return count > 0;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

void ControlConnection::end() { has_ended_ = true; }

void ControlConnection::close() {
  if (is_open()) ::close(socket_);
  socket_ = -1;
}

}  // namespace coll

#endif
