#pragma once

#if defined(__linux__)

#include <memory>
#include <optional>

#include "../processes/data_connections.h"
#include "tcp_channel.h"

namespace coll {

// A channel over data connections that are opened by its first use. Until they are open, it acts
// like a channel to a slow rank: it sends and receives nothing. send() and receive() throw Error if
// the connections cannot be opened.
class LazyChannel final : public Channel {
 public:
  LazyChannel(std::shared_ptr<DataConnections> connections, int rank) : connections_(std::move(connections)), rank_(rank) {}

  ssize_t send(const iovec* parts, int count) override { return tcp_ || open() ? tcp_->send(parts, count) : 0; }
  ssize_t receive(const iovec* parts, int count) override { return tcp_ || open() ? tcp_->receive(parts, count) : 0; }
  pollfd polled_to_send() const override { return tcp_ ? tcp_->polled_to_send() : polled_to_open(); }
  pollfd polled_to_receive() const override { return tcp_ ? tcp_->polled_to_receive() : polled_to_open(); }
  void sleep(int) override {}
  int core_of_peer() const override { return tcp_ ? tcp_->core_of_peer() : -1; }

 private:
  bool open() {
    std::optional<std::vector<int>> sockets = connections_->take(rank_);
    if (sockets) tcp_.emplace(std::move(*sockets));
    return sockets.has_value();
  }

  pollfd polled_to_open() const { return {connections_->descriptor(), POLLIN, 0}; }

  const std::shared_ptr<DataConnections> connections_;
  const int rank_;
  std::optional<TcpChannel> tcp_;
};

}  // namespace coll

#endif
