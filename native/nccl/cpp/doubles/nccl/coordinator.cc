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

// What one rank has sent to another.
struct Message {
  Request request;
  Bytes data;
};

struct Seat {
  Wire wire;
  Hello hello{};
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
    for (const Seat& seat : seats_) close(seat.wire.socket);
  }

 private:
  // Waits for all ranks; false where they do not fit together.
  bool meet() {
    std::string refused;
    do {
      Seat seat;
      seat.wire.socket = accept(listener_, nullptr, nullptr);
      if (seat.wire.socket < 0 || !seat.wire.receive(&seat.hello, sizeof seat.hello)) continue;
      if (refused.empty()) refused = refusal_of(seat.hello);
      seats_.push_back(seat);
    } while (refused.empty() && seats_.size() < static_cast<std::size_t>(seats_.empty() ? 1 : seats_[0].hello.size));
    close(listener_);
    std::sort(seats_.begin(), seats_.end(), [](const Seat& a, const Seat& b) { return a.hello.rank < b.hello.rank; });
    answer_all(refused.empty() ? nccl::kSuccess : nccl::kInvalidUsage, refused);
    return refused.empty();
  }

  std::string refusal_of(const Hello& hello) const {
    for (const Seat& seat : seats_) {
      const Hello& other = seat.hello;
      if (hello.size != other.size) return "ranks differ in how many they are";
      if (hello.version != other.version) return "Mismatched NCCL version detected";
      if (hello.rank == other.rank) return "two ranks " + std::to_string(hello.rank);
      if (hello.device == other.device && std::strcmp(hello.host, other.host) == 0) {
        return "Duplicate GPU detected : rank " + std::to_string(hello.rank) + " and rank " + std::to_string(other.rank);
      }
    }
    return "";
  }

  // Takes a request of every rank, and answers. False when all have gone.
  bool next_round() {
    while (!has_all_requests()) {
      if (!take_requests()) return false;
    }
    const std::string difference = difference_among();
    if (!difference.empty()) answer_all(nccl::kInvalidUsage, difference);
    else if (seats_[0].request->kind == kSplit) split();
    else answer_results();
    for (Seat& seat : seats_) seat.request.reset();
    return true;
  }

  bool has_all_requests() const {
    return std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.request && seat.request->kind != kReceive; });
  }

  bool take_requests() {
    std::vector<pollfd> entries;
    for (const Seat& seat : seats_) entries.push_back({seat.request ? -1 : seat.wire.socket, POLLIN, 0});
    const bool has_loss = std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.wire.socket < 0; });
    if (has_loss && std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.wire.socket < 0; })) return false;
    if (poll(entries.data(), entries.size(), -1) < 0) return true;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (entries[i].revents != 0 && !take_request(seats_[i])) lose(seats_[i]);
    }
    for (Seat& seat : seats_) keep_message(seat);
    for (Seat& seat : seats_) hand_over_message(seat);
    if (std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.wire.socket < 0; })) refuse_waiting();
    return true;
  }

  static bool take_request(Seat& seat) {
    Request request{};
    if (!seat.wire.receive(&request, sizeof request)) return false;
    seat.input.resize(request.input_bytes);
    if (!seat.wire.receive(seat.input.data(), seat.input.size())) return false;
    seat.request = request;
    return true;
  }

  // A sender does not wait for the receiver.
  void keep_message(Seat& seat) {
    if (!seat.request || seat.request->kind != kSend) return;
    messages_[{seat.hello.rank, seat.request->root}].push_back({*seat.request, std::move(seat.input)});
    answer(seat, nccl::kSuccess, "", {});
    seat.request.reset();
  }

  void hand_over_message(Seat& seat) {
    if (!seat.request || seat.request->kind != kReceive) return;
    std::deque<Message>& waiting = messages_[{seat.request->root, seat.hello.rank}];
    if (waiting.empty()) return;
    const Message& message = waiting.front();
    const bool is_same = message.request.count == seat.request->count && message.request.dtype == seat.request->dtype;
    if (is_same) answer(seat, nccl::kSuccess, "", message.data);
    else answer(seat, nccl::kInvalidUsage, "rank " + std::to_string(seat.hello.rank) + " receives something else than rank " + std::to_string(seat.request->root) + " sends (the real NCCL would hang or corrupt)", {});
    waiting.pop_front();
    seat.request.reset();
  }

  static void lose(Seat& seat) {
    close(seat.wire.socket);
    seat.wire.socket = -1;
  }

  void refuse_waiting() {
    for (Seat& seat : seats_) {
      if (seat.wire.socket < 0 || !seat.request) continue;
      answer(seat, nccl::kRemoteError, "a remote process exited or there was a network error", {});
      seat.request.reset();
    }
  }

  std::string difference_among() const {
    const Request& first = *seats_[0].request;
    for (const Seat& seat : seats_) {
      const Request& other = *seat.request;
      const bool is_same = other.kind == first.kind && other.dtype == first.dtype && other.op == first.op && other.root == first.root &&
                           other.count == first.count && other.sequence == first.sequence;
      if (!is_same) return "rank " + std::to_string(seat.hello.rank) + " wants something else than rank 0 (the real NCCL would hang or corrupt)";
    }
    return "";
  }

  void answer_results() {
    std::vector<Bytes> inputs;
    for (const Seat& seat : seats_) inputs.push_back(seat.input);
    const Request& request = *seats_[0].request;
    Bytes whole;
    const int kind = request.kind;
    if (kind == 0 || kind == 1 || kind == 4) whole = reduced(inputs, request.dtype, request.op);
    else if (kind == 2) whole = inputs[static_cast<std::size_t>(request.root)];
    else for (const Bytes& input : inputs) whole.insert(whole.end(), input.begin(), input.end());
    const std::size_t part = whole.size() / seats_.size();
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(i * part);
      const bool gets_all = kind != 1 || static_cast<int>(i) == request.root;
      if (kind == 4) answer(seats_[i], nccl::kSuccess, "", Bytes(begin, begin + static_cast<std::ptrdiff_t>(part)));
      else answer(seats_[i], nccl::kSuccess, "", gets_all ? whole : Bytes{});
    }
  }

  void split() {
    std::map<int, std::vector<Seat*>> parts;
    for (Seat& seat : seats_) parts[seat.request->color].push_back(&seat);
    for (auto& [color, members] : parts) {
      std::stable_sort(members.begin(), members.end(), [](const Seat* a, const Seat* b) { return a->request->key < b->request->key; });
      SplitReply reply{0, static_cast<int>(members.size()), {}};
      if (color != nccl::kNoColor) start_coordinator(reply.id);
      for (Seat* seat : members) {
        const char* const first = reinterpret_cast<const char*>(&reply);
        answer(*seat, nccl::kSuccess, "", Bytes(first, first + sizeof reply));
        ++reply.rank;
      }
    }
  }

  static void answer(const Seat& seat, nccl::Result result, const std::string& text, const Bytes& data) {
    Reply reply{result, {}, data.size()};
    set_text(reply, text);
    // One that has gone is noticed at its next request.
    if (seat.wire.send(&reply, sizeof reply)) seat.wire.send(data.data(), data.size());
  }

  void answer_all(nccl::Result result, const std::string& text) {
    for (const Seat& seat : seats_) answer(seat, result, text, {});
  }

  int listener_;
  std::vector<Seat> seats_;
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
