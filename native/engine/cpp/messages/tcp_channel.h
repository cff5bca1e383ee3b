#pragma once

#if defined(__linux__)

#include <string>
#include <vector>

#include "channel.h"

namespace coll {

struct TcpOptions {
  std::string congestion;        // an algorithm that the system knows; empty: the system's default
  int send_buffer_bytes = 0;     // 0: small within a host, else the system's default
  int receive_buffer_bytes = 0;  // 0: the system's
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
  int core_of_peer() const override;

 private:
  // The position in one direction of the stream.
  struct OneWay {
    std::vector<int> sockets;
    std::size_t at = 0;    // the socket of the current unit
    std::size_t left = 0;  // bytes left of the current unit

    int socket() const { return sockets[at]; }
    void move(std::size_t bytes);
  };

  // Closes each socket once.
  class Owned {
   public:
    Owned(std::vector<int> some, const std::vector<int>& others);
    ~Owned();
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

   private:
    std::vector<int> sockets_;
  };

  ssize_t transfer(OneWay& way, const iovec* parts, int count, bool is_sent);

  const Owned owned_;
  OneWay out_;
  OneWay in_;
  bool is_within_host_;
};

}  // namespace coll

#endif
