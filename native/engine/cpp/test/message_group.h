#pragma once

#if defined(__linux__)

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "error.h"
#include "message_schedules.h"
#include "messages/message_player.h"
#include "messages/ring_channel.h"
#include "messages/tcp_channel.h"
#include "threads/play.h"

// Groups of ranks that send each other messages, in threads.
namespace coll::test {

enum class Transport { kSocketPair, kTinySocketPair, kTcp, kStripedTcp, kTcpApart, kRing, kTinyRing };

struct Pair {
  std::unique_ptr<Channel> lower;
  std::unique_ptr<Channel> higher;
};

// Memory of zeros, at the beginning of a cache line.
struct SharedLines {
  explicit SharedLines(std::size_t bytes) : block(bytes + 64) {}
  std::byte* begin() { return block.data() + (64 - reinterpret_cast<std::uintptr_t>(block.data()) % 64) % 64; }
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
  MessageGroup(int ranks, Transport transport, int cores = 2) {
    std::vector<std::vector<std::unique_ptr<Channel>>> channels(static_cast<std::size_t>(ranks));
    for (std::vector<std::unique_ptr<Channel>>& own : channels) own.resize(static_cast<std::size_t>(ranks));
    for (std::size_t low = 0; low < channels.size(); ++low) {
      for (std::size_t high = low + 1; high < channels.size(); ++high) {
        Pair pair = connect_pair(transport);
        channels[low][high] = std::move(pair.lower);
        channels[high][low] = std::move(pair.higher);
      }
    }
    losses.resize(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<int>& own = losses[static_cast<std::size_t>(rank)];
      players.push_back(std::make_unique<MessagePlayer>(std::move(channels[static_cast<std::size_t>(rank)]), rank, ranks, cores, 7, failure,
                                                        [&own](int lost, int) { own.push_back(lost); }));
    }
  }

  // Each rank's part in a thread of its own.
  template <class Part>
  void run(Part part) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < players.size(); ++rank) threads.emplace_back([&, rank] { part(static_cast<int>(rank), *players[rank]); });
    for (std::thread& thread : threads) thread.join();
  }

  FailureWord failure{0};
  std::vector<std::unique_ptr<MessagePlayer>> players;
  std::vector<std::vector<int>> losses;  // whom each rank was told to be lost

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
    const int sockets = transport == Transport::kStripedTcp ? 3 : transport == Transport::kTcpApart ? 2 : 1;
    for (int i = 0; i < sockets; ++i) {
      const bool is_tcp = transport != Transport::kSocketPair && transport != Transport::kTinySocketPair;
      const auto [one, other] = is_tcp ? tcp_pair() : socket_pair();
      ones.push_back(one);
      others.push_back(other);
    }
    if (transport != Transport::kTcpApart) return {std::make_unique<TcpChannel>(ones, options), std::make_unique<TcpChannel>(others, options)};
    return {std::make_unique<TcpChannel>(std::vector{ones[0]}, std::vector{ones[1]}, options),
            std::make_unique<TcpChannel>(std::vector{others[1]}, std::vector{others[0]}, options)};
  }

  std::vector<std::unique_ptr<SharedLines>> memories_;
};

// What every rank hands in and gets, and what play() says that it should get.
struct Case {
  Case(const Schedule& schedule, std::size_t length, std::vector<std::size_t> starts, bool in_place, std::mt19937& random, bool gathers = false)
      : can_gather(gathers), begins(std::move(starts)) {
    begins.push_back(length);
    const Program program = parse(program_words(schedule));
    const std::size_t ranks = static_cast<std::size_t>(schedule.ranks);
    in_size = byte_size(schedule.dtype);
    out_size = program.moves() ? in_size : byte_size(result_of(schedule.dtype, schedule.op));
    const std::size_t in = length / (schedule.kind == Kind::kAllGather ? ranks : 1) * in_size;
    const std::size_t out = length / (schedule.kind == Kind::kReduceScatter ? ranks : 1) * out_size;
    inputs.assign(ranks, std::vector<std::byte>(in));
    for (std::vector<std::byte>& input : inputs) {
      for (std::byte& byte : input) byte = static_cast<std::byte>(random() & 0x3f);
    }
    expected.assign(ranks, std::vector<std::byte>(out));
    play_all(program, length);
    is_in_place = in_place && in == out && in_size == out_size;
    outputs.assign(ranks, std::vector<std::byte>(out));
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      offers.push_back(offer_of(schedule, rank, length));
    }
  }

  void play_all(const Program& program, std::size_t length) {
    std::vector<const std::byte*> sources;
    std::vector<std::byte*> targets;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      sources.push_back(inputs[rank].data());
      targets.push_back(expected[rank].data());
    }
    const std::size_t whole[] = {0, length};
    Places places;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) places.ranks.push_back({&sources[rank], &targets[rank]});
    places.begins = whole;
    places.piece_count = 1;
    Scratch scratch;
    scratch.fit(program);
    play(program, places, 0, length, scratch);
  }

  Offer offer_of(const Schedule& schedule, int rank, std::size_t length) {
    const Words words = message_words(schedule);
    Offer offer{};
    if (can_gather) offer.program = std::make_shared<Program>(parse(program_words(schedule)));
    offer.messages = std::make_shared<MessageProgram>(parse_message_program(words.data(), words.size(), rank));
    offer.length = length;
    offer.begins = begins;
    offer.fingerprint = 42;
    std::vector<std::byte>& input = inputs[static_cast<std::size_t>(rank)];
    std::vector<std::byte>& output = is_in_place ? input : outputs[static_cast<std::size_t>(rank)];
    const Request& request = *offer.messages;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      if (request.reads(rank)) offer.buffers.inputs.push_back(input.data() + begins[i] * in_size);
      if (request.writes(rank)) offer.buffers.outputs.push_back(output.data() + begins[i] * out_size);
    }
    return offer;
  }

  // The first rank whose result is not what it should be; -1 where there is none.
  int first_wrong() const {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      const std::vector<std::byte>& found = is_in_place ? inputs[rank] : outputs[rank];
      if (!offers[rank].buffers.outputs.empty() && found != expected[rank]) return static_cast<int>(rank);
    }
    return -1;
  }

  bool can_gather;  // small all-reduces, if they are
  std::vector<std::size_t> begins;
  std::size_t in_size;
  std::size_t out_size;
  bool is_in_place;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::vector<std::byte>> expected;
  std::vector<Offer> offers;
};

inline Status play_to_end(MessagePlayer& player, Offer& offer) {
  for (int calls = 0; calls < 2000; ++calls) {
    const Status status = player.play(offer, std::chrono::milliseconds(10));
    if (status != Status::kWaiting) return status;
  }
  return Status::kWaiting;
}

}  // namespace coll::test

#endif
