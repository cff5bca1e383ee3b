#pragma once

#if defined(__linux__)

#include <vector>

#include "../processes/data_connections.h"
#include "../processes/socket_ends.h"
#include "tcp_channel.h"

namespace coll {

// A channel over connections with streams that detect altered bytes: it fails with EBADMSG. Like a
// TcpChannel, it lets units of equal size go over its connections in turn.
class StreamChannel final : public Channel {
 public:
  // Takes over the connections, whose handshakes are done. All have a stream. The other side must
  // have them in the same order. Throws Error for options that the system refuses.
  explicit StreamChannel(std::vector<DataConnection> connections, const TcpOptions& options = {});
  ~StreamChannel() override;

  ssize_t send(const iovec* parts, int count) override;
  ssize_t receive(const iovec* parts, int count) override;
  pollfd polled_to_send() const override { return {connections_[out_.at()].socket, POLLOUT, 0}; }
  // After a call of receive() that has returned 0, no byte is kept here.
  pollfd polled_to_receive() const override { return {connections_[in_.at()].socket, POLLIN, 0}; }
  void sleep(int) override {}
  int core_of_peer() const override { return is_within_host_ ? core_of_other_end(connections_[in_.at()].socket) : -1; }

 private:
  const OwnedSockets owned_;
  const std::vector<DataConnection> connections_;
  Stripes out_;
  Stripes in_;
  const bool is_within_host_;
};

}  // namespace coll

#endif
