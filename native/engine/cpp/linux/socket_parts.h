#pragma once

#if defined(__linux__)

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "../tuning.h"

namespace coll {

// Sends parts over a socket, without waiting. Joins a few bytes into one part: the system sends one
// part faster than a list, by more than the copy takes.
inline ssize_t send_parts(int socket, iovec* parts, int count) {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (count == 1) return send(socket, parts[0].iov_base, parts[0].iov_len, kFlags);
  std::byte joined[tuning::kJoinedBytes];
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    if (parts[i].iov_len > tuning::kJoinedBytes - bytes) {
      msghdr message{};
      message.msg_iov = parts;
      message.msg_iovlen = static_cast<std::size_t>(count);
      return sendmsg(socket, &message, kFlags);
    }
    std::memcpy(joined + bytes, parts[i].iov_base, parts[i].iov_len);
    bytes += parts[i].iov_len;
  }
  return send(socket, joined, bytes, kFlags);
}

// Receives from a socket into parts, without waiting.
inline ssize_t receive_parts(int socket, iovec* parts, int count) {
  if (count == 1) return recv(socket, parts[0].iov_base, parts[0].iov_len, MSG_DONTWAIT);
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<std::size_t>(count);
  return recvmsg(socket, &message, MSG_DONTWAIT);
}

// Whether a call has failed only because the system can take, or has, no bytes now.
inline bool must_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS; }

}  // namespace coll

#endif
