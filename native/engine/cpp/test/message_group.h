#pragma once

#if defined(__linux__)

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "error.h"
#include "messages/message_executor.h"
#include "messages/ring_channel.h"
#include "messages/stream_channel.h"
#include "messages/tcp_channel.h"
#include "sealing/checksummed_stream.h"

// Groups of ranks that send each other messages, in threads.
namespace coll::test {

enum class Transport { kSocketPair, kTinySocketPair, kTcp, kStripedTcp, kTcpApart, kChecksummed, kRing, kTinyRing };

struct Pair {
  std::unique_ptr<Channel> lower;
  std::unique_ptr<Channel> higher;
};

// Zeroed memory, aligned to a cache line.
struct SharedLines {
  explicit SharedLines(std::size_t bytes) : block(bytes + kCacheLine) {}
  std::byte* begin() { return block.data() + (kCacheLine - reinterpret_cast<std::uintptr_t>(block.data()) % kCacheLine) % kCacheLine; }
  std::vector<std::byte> block;
};

inline void make_non_blocking(int socket) { fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK); }

inline std::pair<int, int> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw Error("no socketpair");
  for (const int end : ends) make_non_blocking(end);
  return {ends[0], ends[1]};
}

inline std::pair<int, int> tcp_pair() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      connect(one, reinterpret_cast<sockaddr*>(&address), size) != 0) {
    throw Error("no loopback");
  }
  const int other = accept(listener, nullptr, nullptr);
  close(listener);
  make_non_blocking(one);
  make_non_blocking(other);
  return {one, other};
}

class MessageGroup {
 public:
  MessageGroup(int ranks, Transport transport, int cores = 2) : MessageGroup(ranks, transport, cores, ranks > cores) {}

  // `connects`: whether two ranks, the lower one first, have a channel. All have one by default.
  MessageGroup(int ranks, Transport transport, int cores, bool all_share_cores, const std::function<bool(int, int)>& connects = nullptr) {
    std::vector<std::vector<std::unique_ptr<Channel>>> channels(static_cast<std::size_t>(ranks));
    for (std::vector<std::unique_ptr<Channel>>& own : channels) own.resize(static_cast<std::size_t>(ranks));
    for (std::size_t low = 0; low < channels.size(); ++low) {
      for (std::size_t high = low + 1; high < channels.size(); ++high) {
        if (connects && !connects(static_cast<int>(low), static_cast<int>(high))) continue;
        Pair pair = connect_pair(transport);
        channels[low][high] = std::move(pair.lower);
        channels[high][low] = std::move(pair.higher);
      }
    }
    losses.resize(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<int>& own = losses[static_cast<std::size_t>(rank)];
      executors.push_back(std::make_unique<MessageExecutor>(std::move(channels[static_cast<std::size_t>(rank)]), rank, ranks, LocalRank{rank, ranks, cores}, all_share_cores, 7, failure,
                                                        [&own](int lost, int) { own.push_back(lost); }));
    }
  }

  // Runs each rank's part in a thread of its own.
  template <class Part>
  void run(Part part) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < executors.size(); ++rank) threads.emplace_back([&, rank] { part(static_cast<int>(rank), *executors[rank]); });
    for (std::thread& thread : threads) thread.join();
  }

  FailureWord failure{0};
  std::vector<std::unique_ptr<MessageExecutor>> executors;
  std::vector<std::vector<int>> losses;  // the ranks reported as lost to each rank

 private:
  Pair connect_pair(Transport transport) {
    if (transport == Transport::kRing || transport == Transport::kTinyRing) {
      const std::size_t bytes = transport == Transport::kRing ? 512 * 1024 : 16 * 1024;
      memories_.push_back(std::make_unique<SharedLines>(bytes));
      std::byte* const memory = memories_.back()->begin();
      return {std::make_unique<RingChannel>(memory, bytes, true), std::make_unique<RingChannel>(memory, bytes, false)};
    }
    TcpOptions options;
    if (transport == Transport::kTinySocketPair) options.send_buffer_bytes = options.receive_buffer_bytes = 1;
    std::vector<int> ones;
    std::vector<int> others;
    const int sockets = transport == Transport::kStripedTcp ? 3 : transport == Transport::kTcpApart || transport == Transport::kChecksummed ? 2 : 1;
    for (int i = 0; i < sockets; ++i) {
      const bool is_tcp = transport != Transport::kSocketPair && transport != Transport::kTinySocketPair;
      const auto [one, other] = is_tcp ? tcp_pair() : socket_pair();
      ones.push_back(one);
      others.push_back(other);
    }
    if (transport == Transport::kChecksummed) return {checksummed_channel(ones), checksummed_channel(others)};
    if (transport != Transport::kTcpApart) return {std::make_unique<TcpChannel>(ones, options), std::make_unique<TcpChannel>(others, options)};
    return {std::make_unique<TcpChannel>(std::vector{ones[0]}, std::vector{ones[1]}, options),
            std::make_unique<TcpChannel>(std::vector{others[1]}, std::vector{others[0]}, options)};
  }

  static std::unique_ptr<Channel> checksummed_channel(const std::vector<int>& sockets) {
    std::vector<DataConnection> connections;
    for (const int socket : sockets) connections.push_back({socket, std::make_unique<ChecksummedStream>(socket)});
    return std::make_unique<StreamChannel>(std::move(connections));
  }

  std::vector<std::unique_ptr<SharedLines>> memories_;
};

inline Status execute_to_end(MessageExecutor& executor, Offer& offer) {
  for (int calls = 0; calls < 12000; ++calls) {
    const Status status = executor.execute(offer, std::chrono::milliseconds(10));
    if (status != Status::kWaiting) return status;
  }
  return Status::kWaiting;
}

}  // namespace coll::test

#endif
