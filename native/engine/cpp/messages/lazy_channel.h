#pragma once

#if defined(__linux__)

#include <memory>
#include <optional>
#include <vector>

#include "../processes/data_connections.h"
#include "stream_channel.h"
#include "tcp_channel.h"

namespace coll {

// A channel over data connections that are opened by its first use. Until they are open, it acts
// like a channel to a slow rank: it sends and receives nothing. send() and receive() throw Error if
// the connections cannot be opened.
class LazyChannel final : public Channel {
 public:
  LazyChannel(std::shared_ptr<DataConnections> connections, int rank) : connections_(std::move(connections)), rank_(rank) {}

  ssize_t send(const iovec* parts, int count) override { return opened_ || open() ? opened_->send(parts, count) : 0; }
  ssize_t receive(const iovec* parts, int count) override { return opened_ || open() ? opened_->receive(parts, count) : 0; }
  pollfd polled_to_send() const override { return opened_ ? opened_->polled_to_send() : polled_to_open(); }
  pollfd polled_to_receive() const override { return opened_ ? opened_->polled_to_receive() : polled_to_open(); }
  void sleep(int) override {}
  int core_of_peer() const override { return opened_ ? opened_->core_of_peer() : -1; }

 private:
  bool open() {
    std::optional<std::vector<DataConnection>> made = connections_->take(rank_);
    if (!made) return false;
    if (made->front().stream) {
      opened_ = std::make_unique<StreamChannel>(std::move(*made));
      return true;
    }
    std::vector<int> sockets;
    for (const DataConnection& connection : *made) sockets.push_back(connection.socket);
    opened_ = std::make_unique<TcpChannel>(std::move(sockets));
    return true;
  }

  pollfd polled_to_open() const { return {connections_->descriptor(), POLLIN, 0}; }

  const std::shared_ptr<DataConnections> connections_;
  const int rank_;
  std::unique_ptr<Channel> opened_;
};

}  // namespace coll

#endif
