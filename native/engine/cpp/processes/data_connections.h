#pragma once

#if defined(__linux__)

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../clock.h"
#include "../sealing/sealed_stream.h"
#include "../sealing/stream.h"

namespace coll {

// Secret bytes for one connection between two members, which only these two can derive.
struct Ticket {
  using Half = std::array<std::byte, 32>;
  Half request;  // sent by the higher rank, which connects
  // If the connection is sealed: its key, which is never sent. Otherwise sent by the lower rank, which
  // accepts, once it has checked the request.
  Half reply;
};

// A socket address, as a numeric host and a port.
struct DataAddress {
  // Throws Error unless `host` is an IPv4 or IPv6 address.
  DataAddress(const std::string& host, int port);
  std::string text() const;

  sockaddr_storage value{};
  socklen_t bytes = 0;
};

struct DataListener {
  // Listens at a free port. Throws Error if that fails.
  explicit DataListener(const std::string& host);

  int socket = -1;  // non-blocking; whoever takes it has to close it
  int port = 0;
};

// Another member: its address, and the tickets of all connections with it. The list is empty if the
// pair needs no connections.
struct DataPeer {
  DataAddress address;
  std::vector<Ticket> tickets;
  bool is_sealed = false;
  bool is_checksummed = false;
};

// A connection of which both ends have proven that they are the expected members.
struct DataConnection {
  int socket = -1;
  std::unique_ptr<Stream> stream;  // null if the connection is neither sealed nor checksummed
};

// Opens the data connections of a member when a channel first needs them. Never waits, and has no
// thread of its own: a caller of `take` drives all connections, and at other times the monitor does
// by `turn`. Any thread may call any method.
class DataConnections {
 public:
  // Takes over the listening socket. `timeout`: limit for opening the connections with one rank; 0
  // for none. Throws Error if the process has too many open files.
  DataConnections(int rank, int listener, std::vector<DataPeer> peers, std::chrono::milliseconds timeout);
  ~DataConnections();
  DataConnections(const DataConnections&) = delete;
  DataConnections& operator=(const DataConnections&) = delete;

  // Returns the connections with a rank, in the same order on both ends; the caller owns them.
  // Returns nothing while they are being opened, which the first call starts. Throws Error if they
  // could not be opened in time, a wrong proof arrived, or the process has too many open files.
  std::optional<std::vector<DataConnection>> take(int rank);
  // Becomes readable when there is something to do for `take` or `turn`.
  int descriptor() const { return events_; }
  // Continues to open connections, and closes those that do not authenticate.
  void turn();
  // Stops listening, and closes all connections that were not taken. No more are made.
  void close();

 private:
  using Lock = std::lock_guard<std::mutex>;

  // The request of the connecting end.
  struct Request {
    std::array<char, 8> magic = {'c', 'o', 'l', 'l', '-', 'd', 'a', 't'};
    std::uint32_t rank = 0;
    std::uint32_t index = 0;  // of the connection, among those of the pair
    Ticket::Half ticket{};
  };
  static_assert(sizeof(Request) == 48, "the same for both ends");

  // A connection whose ends have not both proven who they are. The sender of an accepted connection
  // is unknown until its request has arrived.
  struct Handshake {
    bool is_accepted = false;
    std::size_t rank = 0;
    std::size_t index = 0;
    bool has_sent = false;
    // From the request on, if the connection is sealed.
    std::unique_ptr<SealedStream> stream;
    std::array<std::byte, sizeof(Request)> received{};
    std::size_t filled = 0;
    Clock::time_point begun{};
  };

  struct Peer : DataPeer {
    explicit Peer(DataPeer peer) : DataPeer(std::move(peer)), connections(tickets.size()) {}

    std::vector<DataConnection> connections;  // without a socket: not made yet
    std::size_t made = 0;      // how many ever were
    std::optional<Clock::time_point> wanted;
    std::string problem;       // why the last attempt has failed
    bool has_answered_wrongly = false;
  };

  struct Attempt {
    std::size_t rank;
    std::size_t index;
    Clock::time_point due;
  };

  using Handshakes = std::map<int, Handshake>;  // by socket

  void turn_at(Clock::time_point now);
  void connect(std::size_t rank, std::size_t index, Clock::time_point now);
  void accept_all(Clock::time_point now);
  void admit(int socket, Clock::time_point now);
  void advance(Handshakes::iterator handshake, Clock::time_point now);
  void advance_own(Handshakes::iterator handshake, Clock::time_point now);
  bool receive(Handshakes::iterator handshake, std::size_t bytes, std::string& problem);
  bool is_admitted(Handshake& handshake) const;
  bool is_open(std::size_t rank, std::size_t index) const;
  void seal(Handshakes::iterator handshake);
  bool shake(Handshakes::iterator handshake, std::string& problem);
  void fail(Handshakes::iterator handshake, const std::string& problem, Clock::time_point now);
  void retry(std::size_t rank, std::size_t index, const std::string& problem, Clock::time_point now);
  void finish(Handshakes::iterator handshake);
  Handshakes::iterator drop(Handshakes::iterator handshake);
  void lack_descriptors(Clock::time_point now);
  void watch(int operation, int socket, std::uint32_t events);
  void require_possible(std::size_t rank, Clock::time_point now) const;

  const std::size_t rank_;
  const std::chrono::milliseconds timeout_;
  const std::size_t most_strangers_;
  std::mutex mutex_;
  int listener_;
  int events_ = -1;
  std::vector<Peer> peers_;
  Handshakes handshakes_;
  std::vector<Attempt> retries_;
  // The first and the last of the attempts since the last success for which this process had too
  // many open files, and when it accepts again.
  struct Shortage {
    Clock::time_point first;
    Clock::time_point last;
  };
  std::optional<Shortage> shortage_;
  std::optional<Clock::time_point> accepts_again_;
  bool is_closed_ = false;
};

}  // namespace coll

#endif
