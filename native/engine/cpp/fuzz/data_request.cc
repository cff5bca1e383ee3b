#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "processes/data_connections.h"

// What a stranger sends to the listener for data connections. The tickets are not among the bytes
// that a fuzzer finds, so no connection may be answered.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using coll::DataAddress;
  static const coll::DataListener listener("127.0.0.1");
  static auto& members = *[] {
    std::vector<coll::DataPeer> peers;
    for (int rank = 0; rank < 3; ++rank) {
      coll::Ticket ticket{};
      for (std::size_t i = 0; i < ticket.request.size(); ++i) ticket.request[i] = static_cast<std::byte>(151 * i + 7 * static_cast<std::size_t>(rank) + 89);
      peers.push_back({DataAddress("127.0.0.1", listener.port), {}});
      if (rank > 0) peers.back().tickets.push_back(ticket);
    }
    return new coll::DataConnections(0, listener.socket, std::move(peers), std::chrono::milliseconds(0));
  }();
  DataAddress address("127.0.0.1", listener.port);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // From one address, the connections that have ended would use up the ports.
  static std::uint32_t runs = 0;
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(0x7f000001 + ++runs % 0xffff);
  const int later = 1;
  setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof later);
  if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0) std::abort();
  if (connect(socket, reinterpret_cast<sockaddr*>(&address.value), address.bytes) != 0) std::abort();
  const std::size_t first = size / 2;
  if (first > 0) send(socket, data, first, MSG_NOSIGNAL);
  members.turn();
  if (size > first) send(socket, data + first, size - first, MSG_NOSIGNAL);
  for (int i = 0; i < 3; ++i) members.turn();
  char answer = 0;
  if (recv(socket, &answer, 1, MSG_DONTWAIT) > 0) std::abort();
  ::close(socket);
  return 0;
}
