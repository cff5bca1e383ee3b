#if defined(__linux__)

#include "control_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace coll {
namespace {

// Somebody who reads nothing is found out by his silence; until then this much is kept for him.
constexpr std::size_t kMostUnsent = 16 * kMostFrameBytes;

// Of Linux 6.15; headers are often older.
constexpr int kLongestRetryMillisOption = 44;
// The least that Linux takes.
constexpr int kLongestRetryMillis = 1000;

// TCP doubles its pause before each attempt to send again: after a cut of some seconds it is silent for as long once more, which must not count
// as the silence of the member. Systems without these options, and sockets that are not TCP, keep to that.
void send_again_soon(int socket) {
  const int on = 1;
  const int longest = kLongestRetryMillis;
  setsockopt(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, kLongestRetryMillisOption, &longest, sizeof longest);
}

}  // namespace

ControlConnection::ControlConnection(int socket) : socket_(socket) {
  if (is_open()) send_again_soon(socket);
}

void ControlConnection::send(const std::string& frame) {
  if (!is_open() || has_ended_ || unsent_.size() + frame.size() > kMostUnsent) return;
  unsent_ += frame;
  flush();
}

void ControlConnection::flush() {
  while (is_open() && !unsent_.empty()) {
    const ssize_t sent = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    // An error shows when the other side is read.
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

void ControlConnection::end() {
  has_ended_ = true;
  flush();
}

void ControlConnection::close() {
  if (is_open()) ::close(socket_);
  socket_ = -1;
}

}  // namespace coll

#endif
