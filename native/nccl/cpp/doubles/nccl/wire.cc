#include "wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

namespace coll::doubles {
namespace {

constexpr int kPollMillis = 5;

// Waits until the socket is ready. Returns false if the wait is aborted.
bool wait_for(const Wire& wire, short what) {
  for (;;) {
    if (wire.gives_up != nullptr && *wire.gives_up) return false;
    pollfd entry{wire.socket, what, 0};
    const int ready = poll(&entry, 1, kPollMillis);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// The name is not in the file system, and is gone when the process ends.
socklen_t address_of(const nccl::UniqueId& id, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t length = strnlen(id.bytes, 100);
  std::memcpy(address.sun_path + 1, id.bytes, length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

}  // namespace

bool Wire::send(const void* data, std::size_t bytes) const {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    if (!wait_for(*this, POLLOUT)) return false;
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool Wire::receive(void* data, std::size_t bytes) const {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    if (!wait_for(*this, POLLIN)) return false;
    const ssize_t received = ::recv(socket, at, bytes, MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (received <= 0) return false;
    at += received;
    bytes -= static_cast<std::size_t>(received);
  }
  return true;
}

int listen_for(nccl::UniqueId& id) {
  constexpr int kBacklog = 64;
  std::random_device random;
  id = {};
  std::snprintf(id.bytes, sizeof id.bytes, "coll-double-nccl-%d-%08x%08x", static_cast<int>(getpid()), random(), random());
  sockaddr_un address;
  const socklen_t length = address_of(id, address);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, kBacklog) != 0) return -1;
  return listener;
}

int connect_to(const nccl::UniqueId& id) {
  sockaddr_un address;
  const socklen_t length = address_of(id, address);
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made >= 0 && connect(made, reinterpret_cast<sockaddr*>(&address), length) == 0) return made;
  if (made >= 0) close(made);
  return -1;
}

void set_text(Reply& reply, const std::string& text) { std::snprintf(reply.text, sizeof reply.text, "%s", text.c_str()); }

}  // namespace coll::doubles
