#pragma once

#if defined(__linux__)

#include <string>
#include <utility>
#include <vector>

#include "../processes/socket_ends.h"
#include "channel.h"

namespace coll {

struct TcpOptions {
  std::string congestion;        // an algorithm that the system knows; empty: the system's default
  int send_buffer_bytes = 0;     // 0: small within a host, else the system's default
  int receive_buffer_bytes = 0;  // 0: the system's
};

// Sets the options of a socket. Throws Error if the system refuses one.
void prepare(int socket, const TcpOptions& options);

// The position in one direction of a stream that uses several connections: units of equal size go
// over the connections in turn.
class Stripes {
 public:
  explicit Stripes(std::size_t connections);

  // The connection of the current unit.
  std::size_t at() const { return at_; }
  // The most bytes that may go over it now.
  std::size_t most() const { return connections_ == 1 ? static_cast<std::size_t>(-1) : left_; }
  void move(std::size_t bytes);
  // Copies the first most() bytes' worth of `parts` to `into`. Returns the number of parts.
  int cut(const iovec* parts, int count, iovec* into) const;

  static constexpr int kMostVectors = 64;

 private:
  const std::size_t connections_;
  std::size_t at_ = 0;
  std::size_t left_;
};

// Closes each of these sockets once.
class OwnedSockets {
 public:
  explicit OwnedSockets(std::vector<int> some, const std::vector<int>& others = {});
  ~OwnedSockets();
  OwnedSockets(const OwnedSockets&) = delete;
  OwnedSockets& operator=(const OwnedSockets&) = delete;

 private:
  std::vector<int> sockets_;
};

// Connected, non-blocking sockets, IPv4 or IPv6, that carry one stream per direction. Units of
// equal size go over the sockets in turn.
class TcpChannel final : public Channel {
 public:
  // Takes over the sockets. Closes them at the end, or at once if the constructor throws Error for
  // options that the system refuses. The other side must have the sockets in the same order.
  explicit TcpChannel(std::vector<int> sockets, const TcpOptions& options = {});
  // The other side receives from the sockets that this side sends to.
  TcpChannel(std::vector<int> sending, std::vector<int> receiving, const TcpOptions& options = {});

  ssize_t send(const iovec* parts, int count) override;
  ssize_t receive(const iovec* parts, int count) override;
  pollfd polled_to_send() const override { return {out_.socket(), POLLOUT, 0}; }
  pollfd polled_to_receive() const override { return {in_.socket(), POLLIN, 0}; }
  void sleep(int) override {}
  int core_of_peer() const override { return is_within_host_ ? core_of_other_end(in_.socket()) : -1; }

 private:
  // One direction of the stream.
  struct OneWay {
    explicit OneWay(std::vector<int> some) : sockets(std::move(some)), stripes(sockets.size()) {}
    int socket() const { return sockets[stripes.at()]; }

    const std::vector<int> sockets;
    Stripes stripes;
  };

  ssize_t transfer(OneWay& way, const iovec* parts, int count, bool is_sent);

  const OwnedSockets owned_;
  OneWay out_;
  OneWay in_;
  bool is_within_host_;
};

}  // namespace coll

#endif
