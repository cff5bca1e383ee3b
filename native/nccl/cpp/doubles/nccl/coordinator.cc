#include "coordinator.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "reduction.h"

namespace coll::doubles {
namespace {

// Data that one rank has sent to another.
struct Message {
  Request request;
  Bytes data;
};

struct RankConnection {
  Wire wire;
  Handshake handshake{};
  std::optional<Request> request;
  Bytes input;
};

class Coordinator {
 public:
  explicit Coordinator(int listener) : listener_(listener) {}

  void run() {
    if (meet()) {
      while (next_round()) {
      }
    }
    for (const RankConnection& connection : connections_) close(connection.wire.socket);
  }

 private:
  // Waits for all ranks. Returns false if they do not fit together.
  bool meet() {
    std::string refused;
    do {
      RankConnection connection;
      connection.wire.socket = accept(listener_, nullptr, nullptr);
      if (connection.wire.socket < 0 || !connection.wire.receive(&connection.handshake, sizeof connection.handshake)) continue;
      if (refused.empty()) refused = refusal_of(connection.handshake);
      connections_.push_back(connection);
    } while (refused.empty() && connections_.size() < static_cast<std::size_t>(connections_.empty() ? 1 : connections_[0].handshake.size));
    close(listener_);
    std::sort(connections_.begin(), connections_.end(), [](const RankConnection& a, const RankConnection& b) { return a.handshake.rank < b.handshake.rank; });
    answer_all(refused.empty() ? nccl::kSuccess : nccl::kInvalidUsage, refused);
    return refused.empty();
  }

  std::string refusal_of(const Handshake& handshake) const {
    for (const RankConnection& connection : connections_) {
      const Handshake& other = connection.handshake;
      if (handshake.size != other.size) return "ranks disagree about the number of ranks";
      if (handshake.version != other.version) return "Mismatched NCCL version detected";
      if (handshake.rank == other.rank) return "two ranks " + std::to_string(handshake.rank);
      if (handshake.device == other.device && std::strcmp(handshake.host, other.host) == 0) {
        return "Duplicate GPU detected : rank " + std::to_string(handshake.rank) + " and rank " + std::to_string(other.rank);
      }
    }
    return "";
  }

  // Reads one request of every rank and replies. Returns false once all ranks have gone.
  bool next_round() {
    while (!has_all_requests()) {
      if (!take_requests()) return false;
    }
    const std::string difference = difference_among();
    if (!difference.empty()) answer_all(nccl::kInvalidUsage, difference);
    else if (connections_[0].request->kind == kSplit) split();
    else answer_results();
    for (RankConnection& connection : connections_) connection.request.reset();
    return true;
  }

  bool has_all_requests() const {
    return std::all_of(connections_.begin(), connections_.end(), [](const RankConnection& connection) { return connection.request && connection.request->kind != kReceive; });
  }

  bool take_requests() {
    std::vector<pollfd> entries;
    for (const RankConnection& connection : connections_) entries.push_back({connection.request ? -1 : connection.wire.socket, POLLIN, 0});
    const bool has_loss = std::any_of(connections_.begin(), connections_.end(), [](const RankConnection& connection) { return connection.wire.socket < 0; });
    if (has_loss && std::all_of(connections_.begin(), connections_.end(), [](const RankConnection& connection) { return connection.wire.socket < 0; })) return false;
    if (poll(entries.data(), entries.size(), -1) < 0) return true;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (entries[i].revents != 0 && !take_request(connections_[i])) lose(connections_[i]);
    }
    for (RankConnection& connection : connections_) keep_message(connection);
    for (RankConnection& connection : connections_) hand_over_message(connection);
    if (std::any_of(connections_.begin(), connections_.end(), [](const RankConnection& connection) { return connection.wire.socket < 0; })) refuse_waiting();
    return true;
  }

  static bool take_request(RankConnection& connection) {
    Request request{};
    if (!connection.wire.receive(&request, sizeof request)) return false;
    connection.input.resize(request.input_bytes);
    if (!connection.wire.receive(connection.input.data(), connection.input.size())) return false;
    connection.request = request;
    return true;
  }

  // A sender does not wait for the receiver.
  void keep_message(RankConnection& connection) {
    if (!connection.request || connection.request->kind != kSend) return;
    messages_[{connection.handshake.rank, connection.request->root}].push_back({*connection.request, std::move(connection.input)});
    answer(connection, nccl::kSuccess, "", {});
    connection.request.reset();
  }

  void hand_over_message(RankConnection& connection) {
    if (!connection.request || connection.request->kind != kReceive) return;
    std::deque<Message>& waiting = messages_[{connection.request->root, connection.handshake.rank}];
    if (waiting.empty()) return;
    const Message& message = waiting.front();
    const bool is_same = message.request.count == connection.request->count && message.request.dtype == connection.request->dtype;
    if (is_same) answer(connection, nccl::kSuccess, "", message.data);
    else answer(connection, nccl::kInvalidUsage, "rank " + std::to_string(connection.handshake.rank) + " receives something else than rank " + std::to_string(connection.request->root) + " sends (the real NCCL would hang or corrupt)", {});
    waiting.pop_front();
    connection.request.reset();
  }

  static void lose(RankConnection& connection) {
    close(connection.wire.socket);
    connection.wire.socket = -1;
  }

  void refuse_waiting() {
    for (RankConnection& connection : connections_) {
      if (connection.wire.socket < 0 || !connection.request) continue;
      answer(connection, nccl::kRemoteError, "a remote process exited or there was a network error", {});
      connection.request.reset();
    }
  }

  std::string difference_among() const {
    const Request& first = *connections_[0].request;
    for (const RankConnection& connection : connections_) {
      const Request& other = *connection.request;
      const bool is_same = other.kind == first.kind && other.dtype == first.dtype && other.op == first.op && other.root == first.root &&
                           other.count == first.count && other.sequence == first.sequence;
      if (!is_same) return "rank " + std::to_string(connection.handshake.rank) + " makes another call than rank 0 (the real NCCL would hang or corrupt)";
    }
    return "";
  }

  void answer_results() {
    std::vector<Bytes> inputs;
    for (const RankConnection& connection : connections_) inputs.push_back(connection.input);
    const Request& request = *connections_[0].request;
    Bytes whole;
    const int kind = request.kind;
    if (kind == 0 || kind == 1 || kind == 4) whole = reduced(inputs, request.dtype, request.op);
    else if (kind == 2) whole = inputs[static_cast<std::size_t>(request.root)];
    else for (const Bytes& input : inputs) whole.insert(whole.end(), input.begin(), input.end());
    const std::size_t part = whole.size() / connections_.size();
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(i * part);
      const bool gets_all = kind != 1 || static_cast<int>(i) == request.root;
      if (kind == 4) answer(connections_[i], nccl::kSuccess, "", Bytes(begin, begin + static_cast<std::ptrdiff_t>(part)));
      else answer(connections_[i], nccl::kSuccess, "", gets_all ? whole : Bytes{});
    }
  }

  void split() {
    std::map<int, std::vector<RankConnection*>> parts;
    for (RankConnection& connection : connections_) parts[connection.request->color].push_back(&connection);
    for (auto& [color, members] : parts) {
      std::stable_sort(members.begin(), members.end(), [](const RankConnection* a, const RankConnection* b) { return a->request->key < b->request->key; });
      SplitReply reply{0, static_cast<int>(members.size()), {}};
      if (color != nccl::kNoColor) start_coordinator(reply.id);
      for (RankConnection* connection : members) {
        const char* const first = reinterpret_cast<const char*>(&reply);
        answer(*connection, nccl::kSuccess, "", Bytes(first, first + sizeof reply));
        ++reply.rank;
      }
    }
  }

  static void answer(const RankConnection& connection, nccl::Result result, const std::string& text, const Bytes& data) {
    Reply reply{result, {}, data.size()};
    set_text(reply, text);
    // A rank that has gone is detected at its next request.
    if (connection.wire.send(&reply, sizeof reply)) connection.wire.send(data.data(), data.size());
  }

  void answer_all(nccl::Result result, const std::string& text) {
    for (const RankConnection& connection : connections_) answer(connection, result, text, {});
  }

  int listener_;
  std::vector<RankConnection> connections_;
  std::map<std::pair<int, int>, std::deque<Message>> messages_;  // by sender and receiver
};

}  // namespace

bool start_coordinator(nccl::UniqueId& id) {
  const int listener = listen_for(id);
  if (listener < 0) return false;
  std::thread([listener] { Coordinator(listener).run(); }).detach();
  return true;
}

}  // namespace coll::doubles
