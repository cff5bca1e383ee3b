#if defined(__linux__)

#include "data_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "../error.h"
#include "../sealing/checksummed_stream.h"

namespace coll {
namespace {

using std::chrono::milliseconds;

constexpr int kBacklog = 1024;
constexpr milliseconds kPause{50};
// Time limit for the first request of a connection whose sender is not known yet.
constexpr milliseconds kStranger{10000};
// The limits for unauthenticated connections are those of the listener for control connections.
constexpr std::size_t kFewestStrangers = 64;
constexpr std::size_t kStrangersPerMember = 3;
// A lack of descriptors that lasts longer counts as an error: other files may be closed soon.
constexpr milliseconds kLongestShortage{300};
constexpr int kMostEvents = 64;

std::string error_text(int error) { return std::strerror(error); }

bool is_full(int error) { return error == EMFILE || error == ENFILE; }

// Compares in constant time, wherever the two differ.
bool are_equal(const std::byte* a, const std::byte* b, std::size_t bytes) {
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < bytes; ++i) difference = difference | static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool send_all(int socket, const void* bytes, std::size_t count) {
  // The connection is new, so the system takes so few bytes at once.
  return ::send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(count);
}

}  // namespace

DataAddress::DataAddress(const std::string& host, int port) {
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  auto& v4 = reinterpret_cast<sockaddr_in&>(value);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(value);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = network_port;
    bytes = sizeof v4;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = network_port;
    bytes = sizeof v6;
  } else {
    throw Error("not an IP address: " + host);
  }
}

std::string DataAddress::text() const {
  char host[INET6_ADDRSTRLEN] = "";
  const bool is_v6 = value.ss_family == AF_INET6;
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(value);
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(value);
  inet_ntop(value.ss_family, is_v6 ? static_cast<const void*>(&v6.sin6_addr) : &v4.sin_addr, host, sizeof host);
  const std::string port = std::to_string(ntohs(is_v6 ? v6.sin6_port : v4.sin_port));
  return is_v6 ? std::string("[") + host + "]:" + port : std::string(host) + ":" + port;
}

DataListener::DataListener(const std::string& host) {
  DataAddress address(host, 0);
  socket = ::socket(address.value.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  auto* const at = reinterpret_cast<sockaddr*>(&address.value);
  if (socket < 0 || bind(socket, at, address.bytes) != 0 || listen(socket, kBacklog) != 0 || getsockname(socket, at, &address.bytes) != 0) {
    const int error = errno;
    if (socket >= 0) ::close(socket);
    throw Error("cannot listen at " + host + " for data connections: " + error_text(error));
  }
  const bool is_v6 = address.value.ss_family == AF_INET6;
  port = ntohs(is_v6 ? reinterpret_cast<sockaddr_in6&>(address.value).sin6_port : reinterpret_cast<sockaddr_in&>(address.value).sin_port);
}

DataConnections::DataConnections(int rank, int listener, std::vector<DataPeer> peers, milliseconds timeout)
    : rank_(static_cast<std::size_t>(rank)), timeout_(timeout), most_strangers_(std::max(kFewestStrangers, kStrangersPerMember * peers.size())), listener_(listener) {
  peers_.reserve(peers.size());
  for (DataPeer& peer : peers) peers_.emplace_back(std::move(peer));
  events_ = epoll_create1(EPOLL_CLOEXEC);
  if (events_ < 0) {
    const int error = errno;
    ::close(listener_);
    throw Error("cannot create an event queue: " + error_text(error));
  }
  watch(EPOLL_CTL_ADD, listener_, EPOLLIN);
}

DataConnections::~DataConnections() {
  close();
  ::close(events_);
}

void DataConnections::close() {
  const Lock lock(mutex_);
  if (std::exchange(is_closed_, true)) return;
  while (!handshakes_.empty()) drop(handshakes_.begin());
  for (Peer& peer : peers_) {
    for (DataConnection& connection : peer.connections) {
      connection.stream.reset();
      if (connection.socket >= 0) ::close(std::exchange(connection.socket, -1));
    }
  }
  ::close(listener_);
}

std::optional<std::vector<DataConnection>> DataConnections::take(int other) {
  const Lock lock(mutex_);
  if (is_closed_) return std::nullopt;
  const auto rank = static_cast<std::size_t>(other);
  const auto now = Clock::now();
  Peer& peer = peers_[rank];
  if (!peer.wanted) {
    peer.wanted = now;
    for (std::size_t index = 0; rank < rank_ && index < peer.tickets.size(); ++index) connect(rank, index, now);
  }
  turn_at(now);
  if (peer.made == peer.tickets.size()) return std::exchange(peer.connections, {});
  require_possible(rank, now);
  return std::nullopt;
}

void DataConnections::turn() {
  const Lock lock(mutex_);
  if (!is_closed_) turn_at(Clock::now());
}

void DataConnections::turn_at(Clock::time_point now) {
  if (accepts_again_ && now >= *accepts_again_) {
    accepts_again_.reset();
    watch(EPOLL_CTL_MOD, listener_, EPOLLIN);
  }
  const auto first_due = std::partition(retries_.begin(), retries_.end(), [&](const Attempt& attempt) { return attempt.due > now; });
  const std::vector<Attempt> due(first_due, retries_.end());
  retries_.erase(first_due, retries_.end());
  for (const Attempt& attempt : due) connect(attempt.rank, attempt.index, now);
  epoll_event events[kMostEvents];
  const int count = epoll_wait(events_, events, kMostEvents, 0);
  for (int i = 0; i < count; ++i) {
    const int socket = events[i].data.fd;
    if (socket == listener_) {
      accept_all(now);
      continue;
    }
    // An earlier event may have closed the connection.
    const auto handshake = handshakes_.find(socket);
    if (handshake != handshakes_.end()) advance(handshake, now);
  }
  for (auto handshake = handshakes_.begin(); handshake != handshakes_.end();) {
    const bool is_late = handshake->second.is_accepted && now - handshake->second.begun >= kStranger;
    handshake = is_late ? drop(handshake) : std::next(handshake);
  }
}

void DataConnections::connect(std::size_t rank, std::size_t index, Clock::time_point now) {
  const DataAddress& address = peers_[rank].address;
  const int socket = ::socket(address.value.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    const int error = errno;
    if (is_full(error)) lack_descriptors(now);
    return retry(rank, index, error_text(error), now);
  }
  shortage_.reset();
  const bool is_begun = ::connect(socket, reinterpret_cast<const sockaddr*>(&address.value), address.bytes) == 0 || errno == EINPROGRESS || errno == EINTR;
  if (!is_begun) {
    const int error = errno;
    ::close(socket);
    return retry(rank, index, error_text(error), now);
  }
  Handshake handshake{};
  handshake.rank = rank;
  handshake.index = index;
  handshake.begun = now;
  handshakes_.emplace(socket, std::move(handshake));
  watch(EPOLL_CTL_ADD, socket, EPOLLOUT);
}

void DataConnections::accept_all(Clock::time_point now) {
  for (int left = kMostEvents; left > 0; --left) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      shortage_.reset();
      admit(socket, now);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      shortage_.reset();
      return;
    }
    // Other errors concern one connection, which has ended already.
    const bool is_lack = is_full(errno) || errno == ENOBUFS || errno == ENOMEM;
    if (!is_lack) continue;
    lack_descriptors(now);
    // The connection stays in the system's queue, which would report it again at once.
    accepts_again_ = now + kPause;
    return watch(EPOLL_CTL_MOD, listener_, 0);
  }
}

void DataConnections::admit(int socket, Clock::time_point now) {
  auto oldest = handshakes_.end();
  std::size_t strangers = 0;
  for (auto handshake = handshakes_.begin(); handshake != handshakes_.end(); ++handshake) {
    if (!handshake->second.is_accepted) continue;
    ++strangers;
    if (oldest == handshakes_.end() || handshake->second.begun < oldest->second.begun) oldest = handshake;
  }
  // Members send their request at once, so the oldest connections are not from members.
  if (strangers >= most_strangers_) drop(oldest);
  Handshake handshake{};
  handshake.is_accepted = true;
  handshake.begun = now;
  const auto added = handshakes_.emplace(socket, std::move(handshake)).first;
  watch(EPOLL_CTL_ADD, socket, EPOLLIN);
  advance(added, now);
}

void DataConnections::advance(Handshakes::iterator handshake, Clock::time_point now) {
  if (!handshake->second.is_accepted) return advance_own(handshake, now);
  std::string problem;
  if (!handshake->second.stream) {
    if (!receive(handshake, sizeof(Request), problem)) {
      if (!problem.empty()) drop(handshake);
      return;
    }
    if (!is_admitted(handshake->second)) {
      drop(handshake);
      return;
    }
    const Peer& peer = peers_[handshake->second.rank];
    if (!peer.is_sealed) {
      const Ticket::Half& reply = peer.tickets[handshake->second.index].reply;
      if (send_all(handshake->first, reply.data(), reply.size())) finish(handshake);
      else drop(handshake);
      return;
    }
    seal(handshake);
  }
  const bool is_proven = shake(handshake, problem);
  // A copy of the request may have arrived, too: the first end that has proven itself counts.
  if (is_proven && !is_open(handshake->second.rank, handshake->second.index)) finish(handshake);
  else if (is_proven || !problem.empty()) drop(handshake);
}

void DataConnections::advance_own(Handshakes::iterator handshake, Clock::time_point now) {
  const int socket = handshake->first;
  Handshake& own = handshake->second;
  Peer& peer = peers_[own.rank];
  const Ticket& ticket = peer.tickets[own.index];
  if (!own.has_sent) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return fail(handshake, error_text(error), now);
    Request request;
    request.rank = static_cast<std::uint32_t>(rank_);
    request.index = static_cast<std::uint32_t>(own.index);
    request.ticket = ticket.request;
    if (!send_all(socket, &request, sizeof request)) return fail(handshake, error_text(errno), now);
    own.has_sent = true;
    watch(EPOLL_CTL_MOD, socket, EPOLLIN);
    if (peer.is_sealed) seal(handshake);
  }
  std::string problem;
  if (own.stream) {
    if (shake(handshake, problem)) finish(handshake);
    else if (!problem.empty()) fail(handshake, problem, now);
    return;
  }
  if (!receive(handshake, sizeof(Ticket::Half), problem)) {
    if (!problem.empty()) fail(handshake, problem, now);
    return;
  }
  if (are_equal(own.received.data(), ticket.reply.data(), ticket.reply.size())) return finish(handshake);
  // Another attempt would be in vain: if that was the member, it has made the connection, and accepts
  // no ticket twice. Nobody but who answers at this address, or is on the way, can cause this.
  peer.has_answered_wrongly = true;
  peer.problem = "the answer is not that of this rank: something has changed it on the way, or another program listens there";
  drop(handshake);
}

void DataConnections::seal(Handshakes::iterator found) {
  auto& [socket, handshake] = *found;
  const Ticket& ticket = peers_[handshake.rank].tickets[handshake.index];
  const SealedEnd end = handshake.is_accepted ? SealedEnd::kAccepting : SealedEnd::kConnecting;
  // Small messages follow each other, and must not wait for an answer.
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  handshake.stream = std::make_unique<SealedStream>(socket, end, Seal{ticket.request, ticket.reply});
}

// Continues the handshake of TLS. Returns whether the other end has proven that it has the key. If it
// never will, sets `problem`.
bool DataConnections::shake(Handshakes::iterator handshake, std::string& problem) {
  SealedStream& stream = *handshake->second.stream;
  const bool is_done = stream.shake();
  if (stream.has_failed()) problem = stream.problem();
  watch(EPOLL_CTL_MOD, handshake->first, stream.has_unsent() ? EPOLLIN | EPOLLOUT : EPOLLIN);
  // The stream sends the rest with its first bytes.
  return is_done;
}

// Receives the first `bytes` of a connection, and no more. Returns whether they have arrived. If
// they never will, sets `problem`.
bool DataConnections::receive(Handshakes::iterator found, std::size_t bytes, std::string& problem) {
  auto& [socket, handshake] = *found;
  const ssize_t count = recv(socket, handshake.received.data() + handshake.filled, bytes - handshake.filled, MSG_DONTWAIT);
  if (count > 0) handshake.filled += static_cast<std::size_t>(count);
  else if (count == 0) problem = "it has closed the connection";
  else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) problem = error_text(errno);
  return handshake.filled == bytes;
}

// Whether the request is that of a higher rank, for a connection that was not made yet.
bool DataConnections::is_admitted(Handshake& handshake) const {
  Request request;
  const Request wanted;
  std::memcpy(&request, handshake.received.data(), sizeof request);
  if (request.magic != wanted.magic || request.rank <= rank_ || request.rank >= peers_.size()) return false;
  const Peer& peer = peers_[request.rank];
  if (request.index >= peer.tickets.size() || is_open(request.rank, request.index)) return false;
  const Ticket::Half& expected = peer.tickets[request.index].request;
  if (!are_equal(request.ticket.data(), expected.data(), expected.size())) return false;
  handshake.rank = request.rank;
  handshake.index = request.index;
  return true;
}

// Whether this connection was made already. Connections that were taken leave an empty list.
bool DataConnections::is_open(std::size_t rank, std::size_t index) const {
  const std::vector<DataConnection>& connections = peers_[rank].connections;
  return index >= connections.size() || connections[index].socket >= 0;
}

void DataConnections::fail(Handshakes::iterator handshake, const std::string& problem, Clock::time_point now) {
  retry(handshake->second.rank, handshake->second.index, problem, now);
  drop(handshake);
}

void DataConnections::retry(std::size_t rank, std::size_t index, const std::string& problem, Clock::time_point now) {
  peers_[rank].problem = problem;
  retries_.push_back({rank, index, now + kPause});
}

void DataConnections::finish(Handshakes::iterator handshake) {
  auto& [socket, made] = *handshake;
  watch(EPOLL_CTL_DEL, socket, 0);
  Peer& peer = peers_[made.rank];
  DataConnection& connection = peer.connections[made.index];
  connection = {socket, std::move(made.stream)};
  if (peer.is_checksummed) connection.stream = std::make_unique<ChecksummedStream>(socket);
  ++peer.made;
  handshakes_.erase(handshake);
}

DataConnections::Handshakes::iterator DataConnections::drop(Handshakes::iterator handshake) {
  handshake->second.stream.reset();
  ::close(handshake->first);
  return handshakes_.erase(handshake);
}

void DataConnections::lack_descriptors(Clock::time_point now) {
  if (!shortage_) shortage_ = {now, now};
  shortage_->last = now;
}

void DataConnections::watch(int operation, int socket, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = socket;
  epoll_ctl(events_, operation, socket, &event);
}

void DataConnections::require_possible(std::size_t rank, Clock::time_point now) const {
  const Peer& peer = peers_[rank];
  const std::string what = "it cannot open a data connection with rank " + std::to_string(rank);
  if (shortage_ && shortage_->last - shortage_->first >= kLongestShortage) throw Error(what + ": it has too many open files; raise the limit before you start the process: ulimit -n 4096");
  const bool is_over = timeout_ > milliseconds(0) && now - *peer.wanted >= timeout_;
  if (rank > rank_ || !(is_over || peer.has_answered_wrongly)) return;
  const std::string why = peer.problem.empty() ? "no answer" : peer.problem;
  throw Error(what + " at " + peer.address.text() + ": " + why + "; check the network and the firewalls between both hosts");
}

}  // namespace coll

#endif
