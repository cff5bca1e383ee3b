#include "tcp_channel.h"

#if defined(__linux__)

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../error.h"
#include "../linux/socket_parts.h"
#include "../processes/socket_ends.h"
#include "../tuning.h"

namespace coll {
namespace {

// Both ends go to the next socket after this many bytes: enough to be worth a system call, but few
// enough that several sockets are busy at once.
constexpr std::size_t kStripeBytes = 128 * 1024;

void set(int socket, int level, int name, const void* value, std::size_t bytes, const char* what) {
  if (setsockopt(socket, level, name, value, static_cast<socklen_t>(bytes)) != 0) {
    throw Error(std::string("cannot set ") + what + " on a socket: " + std::strerror(errno));
  }
}

}  // namespace

void prepare(int socket, const TcpOptions& options) {
  if (is_tcp(socket)) {
    const int on = 1;
    set(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on, "TCP_NODELAY");
    const std::string& name = options.congestion;
    if (!name.empty()) set(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), name.size(), ("congestion control " + name).c_str());
    const int waiting = tuning::kWaitingBytesWithinHost;
    if (is_within_host(socket)) set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &waiting, sizeof waiting, "TCP_NOTSENT_LOWAT");
  }
  const int send_bytes = options.send_buffer_bytes == 0 && is_within_host(socket) ? tuning::kSendBytesWithinHost : options.send_buffer_bytes;
  const int receive_bytes = options.receive_buffer_bytes;
  // The system doubles this value for its own bookkeeping.
  if (send_bytes > 0) set(socket, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes, "SO_SNDBUF");
  if (receive_bytes > 0) set(socket, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes, "SO_RCVBUF");
}

TcpChannel::TcpChannel(std::vector<int> sockets, const TcpOptions& options) : TcpChannel(sockets, sockets, options) {}

TcpChannel::TcpChannel(std::vector<int> sending, std::vector<int> receiving, const TcpOptions& options)
    : owned_(sending, receiving), out_(std::move(sending)), in_(std::move(receiving)) {
  if (out_.sockets.empty() || in_.sockets.empty()) throw Error("a channel needs a socket for each direction");
  is_within_host_ = is_within_host(in_.socket());
  for (const OneWay* way : {&out_, &in_}) {
    for (const int socket : way->sockets) prepare(socket, options);
  }
}

OwnedSockets::OwnedSockets(std::vector<int> some, const std::vector<int>& others) : sockets_(std::move(some)) {
  sockets_.insert(sockets_.end(), others.begin(), others.end());
  std::sort(sockets_.begin(), sockets_.end());
  sockets_.erase(std::unique(sockets_.begin(), sockets_.end()), sockets_.end());
}

OwnedSockets::~OwnedSockets() {
  for (const int socket : sockets_) close(socket);
}

Stripes::Stripes(std::size_t connections) : connections_(connections), left_(kStripeBytes) {}

void Stripes::move(std::size_t bytes) {
  if (connections_ == 1) return;
  left_ -= bytes;
  if (left_ > 0) return;
  left_ = kStripeBytes;
  at_ = (at_ + 1) % connections_;
}

int Stripes::cut(const iovec* parts, int count, iovec* into) const {
  int taken = 0;
  for (std::size_t bytes = most(); taken < std::min(count, kMostVectors) && bytes > 0; ++taken) {
    into[taken] = {parts[taken].iov_base, std::min(parts[taken].iov_len, bytes)};
    bytes -= into[taken].iov_len;
  }
  return taken;
}

ssize_t TcpChannel::send(const iovec* parts, int count) { return transfer(out_, parts, count, true); }

ssize_t TcpChannel::receive(const iovec* parts, int count) { return transfer(in_, parts, count, false); }

ssize_t TcpChannel::transfer(OneWay& way, const iovec* parts, int count, bool is_sent) {
  iovec own[Stripes::kMostVectors];
  const int own_count = way.stripes.cut(parts, count, own);
  ssize_t moved = 0;
  do {
    moved = is_sent ? send_parts(way.socket(), own, own_count) : receive_parts(way.socket(), own, own_count);
  } while (moved < 0 && errno == EINTR);
  if (moved > 0) {
    way.stripes.move(static_cast<std::size_t>(moved));
    return moved;
  }
  if (moved < 0 && must_wait(errno)) return 0;
  if (moved == 0 && is_sent) return 0;
  if (moved == 0) errno = 0;
  return -1;
}

}  // namespace coll

#endif
