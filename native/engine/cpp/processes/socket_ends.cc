#if defined(__linux__)

#include "socket_ends.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace coll {

bool is_within_host(int socket) {
  sockaddr_storage ends[2]{};
  socklen_t sizes[2] = {sizeof ends[0], sizeof ends[1]};
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&ends[0]), &sizes[0]) != 0) return false;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&ends[1]), &sizes[1]) != 0) return false;
  if (ends[0].ss_family != ends[1].ss_family) return false;
  if (ends[0].ss_family == AF_INET) {
    return reinterpret_cast<sockaddr_in&>(ends[0]).sin_addr.s_addr == reinterpret_cast<sockaddr_in&>(ends[1]).sin_addr.s_addr;
  }
  if (ends[0].ss_family != AF_INET6) return false;
  return std::memcmp(&reinterpret_cast<sockaddr_in6&>(ends[0]).sin6_addr, &reinterpret_cast<sockaddr_in6&>(ends[1]).sin6_addr,
                     sizeof(in6_addr)) == 0;
}

bool is_tcp(int socket) {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  return getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

// Within a host, the sender's core carries a packet all the way to the receiver's socket.
int core_of_other_end(int socket) {
  int core = -1;
  socklen_t size = sizeof core;
  return getsockopt(socket, SOL_SOCKET, SO_INCOMING_CPU, &core, &size) == 0 ? core : -1;
}

}  // namespace coll

#endif
