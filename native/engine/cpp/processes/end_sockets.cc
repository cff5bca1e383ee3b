#if defined(__linux__)

#include "end_sockets.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace coll {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Reads and drops what has arrived. Returns whether the other side has ended.
bool drain(int socket) {
  std::array<char, 1 << 16> dropped{};
  while (true) {
    const ssize_t count = ::recv(socket, dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
}

}  // namespace

void end_sockets(std::vector<int> sockets, milliseconds longest) {
  for (const int socket : sockets) ::shutdown(socket, SHUT_WR);
  const auto until = Clock::now() + longest;
  while (!sockets.empty()) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    if (left.count() <= 0) return;
    std::vector<pollfd> events;
    for (const int socket : sockets) events.push_back({socket, POLLIN, 0});
    poll(events.data(), events.size(), static_cast<int>(left.count()));
    sockets.erase(std::remove_if(sockets.begin(), sockets.end(), drain), sockets.end());
  }
}

}  // namespace coll

#endif
