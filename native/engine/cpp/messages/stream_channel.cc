#if defined(__linux__)

#include "stream_channel.h"

#include <utility>

namespace coll {
namespace {

std::vector<int> sockets_of(const std::vector<DataConnection>& connections) {
  std::vector<int> sockets;
  for (const DataConnection& connection : connections) sockets.push_back(connection.socket);
  return sockets;
}

}  // namespace

StreamChannel::StreamChannel(std::vector<DataConnection> connections, const TcpOptions& options)
    : owned_(sockets_of(connections)), connections_(std::move(connections)), out_(connections_.size()), in_(connections_.size()),
      is_within_host_(is_within_host(connections_.front().socket)) {
  for (const DataConnection& connection : connections_) prepare(connection.socket, options);
}

StreamChannel::~StreamChannel() {
  for (const DataConnection& connection : connections_) connection.stream->end();
}

ssize_t StreamChannel::send(const iovec* parts, int count) {
  iovec own[Stripes::kMostVectors];
  const int own_count = out_.cut(parts, count, own);
  const ssize_t sent = connections_[out_.at()].stream->send(own, own_count);
  if (sent > 0) out_.move(static_cast<std::size_t>(sent));
  return sent;
}

ssize_t StreamChannel::receive(const iovec* parts, int count) {
  iovec own[Stripes::kMostVectors];
  const int own_count = in_.cut(parts, count, own);
  const ssize_t received = connections_[in_.at()].stream->receive(own, own_count);
  if (received > 0) in_.move(static_cast<std::size_t>(received));
  return received;
}

}  // namespace coll

#endif
