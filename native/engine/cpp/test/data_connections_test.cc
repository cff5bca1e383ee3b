#if defined(__linux__)

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "message_case.h"
#include "message_group.h"
#include "messages/lazy_channel.h"
#include "processes/data_connections.h"
#include "sealing_case.h"

namespace coll::test {
namespace {

using std::chrono::milliseconds;

// The first message of a member, byte by byte.
struct Hello {
  char magic[8] = {'c', 'o', 'l', 'l', '-', 'd', 'a', 't'};
  std::uint32_t rank = 1;
  std::uint32_t index = 0;
  Ticket::Half ticket{};
};

Ticket::Half half(int lower, int higher, std::size_t index, int which) {
  Ticket::Half bytes{};
  bytes.fill(static_cast<std::byte>(which));
  bytes[31] = static_cast<std::byte>(16 * lower + higher);
  bytes[0] = static_cast<std::byte>(index);
  return bytes;
}

Hello hello_of(int rank, std::size_t index = 0) {
  Hello hello;
  hello.rank = static_cast<std::uint32_t>(rank);
  hello.index = static_cast<std::uint32_t>(index);
  hello.ticket = half(0, rank, index, 1);
  return hello;
}

// All members of a group, in this process.
struct Members {
  explicit Members(int size, std::size_t streams = 1, milliseconds timeout = milliseconds(20'000), bool is_sealed = false, bool is_checksummed = false) {
    for (int rank = 0; rank < size; ++rank) listeners.emplace_back("127.0.0.1");
    for (int rank = 0; rank < size; ++rank) {
      std::vector<DataPeer> peers;
      for (int other = 0; other < size; ++other) {
        peers.push_back({DataAddress("127.0.0.1", listeners[static_cast<std::size_t>(other)].port), {}, is_sealed, is_checksummed});
        const auto [lower, higher] = std::minmax(rank, other);
        for (std::size_t index = 0; other != rank && index < streams; ++index) peers.back().tickets.push_back({half(lower, higher, index, 1), half(lower, higher, index, 2)});
      }
      all.push_back(std::make_shared<DataConnections>(rank, listeners[static_cast<std::size_t>(rank)].socket, std::move(peers), timeout));
    }
  }

  DataConnections& operator[](std::size_t rank) { return *all[rank]; }
  int port(std::size_t rank) const { return listeners[rank].port; }

  std::vector<DataListener> listeners;
  std::vector<std::shared_ptr<DataConnections>> all;
};

// Waits until `is_over`, at most for ten seconds.
bool await(const std::function<bool()>& is_over) {
  for (int left = 10'000; left > 0; --left) {
    if (is_over()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

// The sockets of connections that are not sealed.
std::optional<std::vector<int>> take_sockets(DataConnections& connections, int rank) {
  const std::optional<std::vector<DataConnection>> taken = connections.take(rank);
  if (!taken) return std::nullopt;
  std::vector<int> sockets;
  for (const DataConnection& connection : *taken) {
    EXPECT_EQ(connection.stream, nullptr);
    sockets.push_back(connection.socket);
  }
  return sockets;
}

std::vector<int> taken(DataConnections& connections, int rank) {
  std::optional<std::vector<int>> sockets;
  await([&] { return (sockets = take_sockets(connections, rank)).has_value(); });
  return sockets.value_or(std::vector<int>{});
}

void close_all(const std::vector<int>& sockets) {
  for (const int socket : sockets) close(socket);
}

std::size_t open_sockets() {
  std::size_t count = 0;
  DIR* const directory = opendir("/proc/self/fd");
  for (const dirent* entry = readdir(directory); entry != nullptr; entry = readdir(directory)) {
    char target[16] = "";
    const ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
    if (length > 7 && std::memcmp(target, "socket:", 7) == 0) ++count;
  }
  closedir(directory);
  return count;
}

// A program that connects to a member.
struct Stranger {
  explicit Stranger(int port) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const DataAddress address("127.0.0.1", port);
    EXPECT_EQ(connect(socket, reinterpret_cast<const sockaddr*>(&address.value), address.bytes), 0);
    make_non_blocking(socket);
  }
  ~Stranger() { close(socket); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void say(const void* bytes, std::size_t count) const { EXPECT_EQ(send(socket, bytes, count, MSG_NOSIGNAL), static_cast<ssize_t>(count)); }
  bool has_ended() const {
    char byte = 0;
    const ssize_t count = recv(socket, &byte, 1, 0);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }

  int socket;
};

// The error of take() for connections that cannot be opened.
std::string error_of(DataConnections& connections, int rank) {
  std::string text;
  await([&] {
    try {
      return connections.take(rank).has_value();
    } catch (const Error& error) {
      text = error.what();
      return true;
    }
  });
  return text;
}

TEST(DataConnections, MakesAllConnectionsOfAPairInTheSameOrderOnBothEnds) {
  Members members(2, 3);
  std::optional<std::vector<int>> lower;
  std::optional<std::vector<int>> higher;
  ASSERT_TRUE(await([&] {
    if (!higher) higher = take_sockets(members[1], 0);
    if (!lower) lower = take_sockets(members[0], 1);
    return lower && higher;
  }));
  ASSERT_EQ(lower->size(), 3u);
  ASSERT_EQ(higher->size(), 3u);
  for (char index = 0; index < 3; ++index) {
    char found = -1;
    ASSERT_EQ(write((*higher)[static_cast<std::size_t>(index)], &index, 1), 1);
    ASSERT_TRUE(await([&] { return read((*lower)[static_cast<std::size_t>(index)], &found, 1) == 1; }));
    EXPECT_EQ(found, index);
  }
  close_all(*lower);
  close_all(*higher);
}

TEST(DataConnections, AcceptsWhileNoCallWaitsForTheConnection) {
  Members members(2);
  EXPECT_FALSE(members[1].take(0));
  std::optional<std::vector<int>> higher;
  EXPECT_TRUE(await([&] {
    members[0].turn();
    higher = take_sockets(members[1], 0);
    return higher.has_value();
  }));
  const std::optional<std::vector<int>> lower = take_sockets(members[0], 1);
  ASSERT_TRUE(lower);
  close_all(*lower);
  close_all(*higher);
}

TEST(DataConnections, ClosesConnectionsWithoutAValidTicketAndThenAdmitsTheMember) {
  Members members(3);
  Hello wrong_ticket = hello_of(1);
  wrong_ticket.ticket[31] ^= std::byte{1};
  Hello wrong_magic = hello_of(1);
  wrong_magic.magic[0] = 'k';
  Hello reply = hello_of(1);
  reply.ticket = half(0, 1, 0, 2);
  Hello of_another = hello_of(2);
  of_another.rank = 1;
  Hello unknown_rank = hello_of(1);
  unknown_rank.rank = 3;
  Hello own_rank = hello_of(1);
  own_rank.rank = 0;
  Hello unknown_index = hello_of(1);
  unknown_index.index = 1;
  for (const Hello& hello : {wrong_ticket, wrong_magic, reply, of_another, unknown_rank, own_rank, unknown_index}) {
    const Stranger stranger(members.port(0));
    stranger.say(&hello, sizeof hello);
    EXPECT_TRUE(await([&] {
      EXPECT_FALSE(members[0].take(1));
      return stranger.has_ended();
    }));
  }
  std::thread member([&] { close_all(taken(members[1], 0)); });
  const std::vector<int> sockets = taken(members[0], 1);
  EXPECT_EQ(sockets.size(), 1u);
  member.join();
  close_all(sockets);
}

TEST(DataConnections, AcceptsATicketOnce) {
  Members members(2);
  const Hello hello = hello_of(1);
  const Stranger first(members.port(0));
  first.say(&hello, sizeof hello);
  // Sends a second request for the same connection, once before the connection is taken and once
  // afterwards.
  Ticket::Half reply{};
  EXPECT_TRUE(await([&] {
    members[0].turn();
    return recv(first.socket, reply.data(), reply.size(), 0) == static_cast<ssize_t>(reply.size());
  }));
  EXPECT_EQ(reply, half(0, 1, 0, 2));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Stranger again(members.port(0));
    again.say(&hello, sizeof hello);
    EXPECT_TRUE(await([&] {
      members[0].turn();
      return again.has_ended();
    }));
    if (attempt == 0) close_all(taken(members[0], 1));
  }
}

TEST(DataConnections, ReadsNothingBeyondTheRequest) {
  Members members(2);
  const Stranger member(members.port(0));
  Hello hello[2] = {hello_of(1), hello_of(1)};
  member.say(hello, sizeof hello);
  const std::vector<int> sockets = taken(members[0], 1);
  ASSERT_EQ(sockets.size(), 1u);
  Hello rest;
  EXPECT_EQ(recv(sockets[0], &rest, sizeof rest, 0), static_cast<ssize_t>(sizeof rest));
  EXPECT_EQ(std::memcmp(&rest, &hello[1], sizeof rest), 0);
  close_all(sockets);
}

TEST(DataConnections, KeepsALimitedNumberOfSilentConnectionsAndClosesTheOldest) {
  Members members(2);
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 80; ++i) {
    strangers.push_back(std::make_unique<Stranger>(members.port(0)));
    members[0].turn();
  }
  const auto ended = [&] { return std::count_if(strangers.begin(), strangers.end(), [](const auto& stranger) { return stranger->has_ended(); }); };
  EXPECT_TRUE(await([&] {
    members[0].turn();
    return ended() == 16;
  }));
  EXPECT_TRUE(strangers.front()->has_ended());
  EXPECT_FALSE(strangers.back()->has_ended());
  std::thread member([&] { close_all(taken(members[1], 0)); });
  const std::vector<int> sockets = taken(members[0], 1);
  EXPECT_EQ(sockets.size(), 1u);
  member.join();
  close_all(sockets);
}

TEST(DataConnections, TriesAgainAfterTheOtherEndHasClosedTheConnection) {
  Members members(2);
  // A program that accepts the first connection instead of rank 0.
  ASSERT_FALSE(members[1].take(0));
  int first = -1;
  ASSERT_TRUE(await([&] { return (first = accept(members.listeners[0].socket, nullptr, nullptr)) >= 0; }));
  close(first);
  std::thread member([&] { close_all(taken(members[1], 0)); });
  const std::vector<int> sockets = taken(members[0], 1);
  EXPECT_EQ(sockets.size(), 1u);
  member.join();
  close_all(sockets);
}

TEST(DataConnections, ReportsAnImpostorAtTheAddressOfAMemberAtOnce) {
  // Without a limit, only the answer can end the wait.
  Members members(2, 1, milliseconds(0));
  std::atomic<bool> is_over{false};
  std::thread impostor([&] {
    while (!is_over) {
      const int socket = accept(members.listeners[0].socket, nullptr, nullptr);
      if (socket < 0) {
        std::this_thread::sleep_for(milliseconds(1));
        continue;
      }
      // Replies with the ticket that it has received, instead of its own.
      const Ticket::Half half_ticket = half(0, 1, 0, 1);
      send(socket, half_ticket.data(), half_ticket.size(), MSG_NOSIGNAL);
      std::this_thread::sleep_for(milliseconds(20));
      close(socket);
    }
  });
  const std::string text = error_of(members[1], 0);
  is_over = true;
  impostor.join();
  const std::string expected = "it cannot open a data connection with rank 0 at 127.0.0.1:" + std::to_string(members.port(0)) + ": the answer is not that of this rank: something has changed it on the way";
  EXPECT_EQ(text.substr(0, expected.size()), expected);
  EXPECT_EQ(error_of(members[1], 0), text);
}

TEST(DataConnections, ReportsWhyAMemberCannotBeReached) {
  Members members(2, 1, milliseconds(200));
  members[0].close();
  const auto begun = Clock::now();
  const std::string text = error_of(members[1], 0);
  EXPECT_GE(Clock::now() - begun, milliseconds(200));
  EXPECT_NE(text.find("Connection refused; check the network"), std::string::npos) << text;
  EXPECT_FALSE(members[0].take(1));
}

TEST(DataConnections, ReportsTooManyOpenFilesOnBothEnds) {
  for (const int rank : {0, 1}) {
    Members members(2);
    const Stranger stranger(members.port(0));
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest);
    rlimit low = limit;
    low.rlim_cur = static_cast<rlim_t>(lowest);
    setrlimit(RLIMIT_NOFILE, &low);
    const std::string text = error_of(members[static_cast<std::size_t>(rank)], 1 - rank);
    setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(text, "it cannot open a data connection with rank " + std::to_string(1 - rank) + ": it has too many open files; raise the limit before you start the process: ulimit -n 4096");
    // Waits longer than the interval between two attempts.
    std::this_thread::sleep_for(milliseconds(60));
    std::thread member([&] { close_all(taken(members[1], 0)); });
    close_all(taken(members[0], 1));
    member.join();
  }
}

TEST(DataConnections, RefusesAddressesThatAreNotNumeric) {
  EXPECT_THROW(DataAddress("localhost", 1), Error);
  EXPECT_THROW(DataListener("192.0.2.1"), Error);
  EXPECT_EQ(DataAddress("::1", 7).text(), "[::1]:7");
  EXPECT_EQ(DataAddress("10.0.0.1", 65535).text(), "10.0.0.1:65535");
}

TEST(DataConnections, ClosesWhatNobodyHasTaken) {
  const std::size_t before = open_sockets();
  {
    Members members(2, 2);
    const Stranger stranger(members.port(0));
    const auto count = [&] { return open_sockets() - before; };
    members[1].take(0);
    EXPECT_TRUE(await([&] {
      members[0].turn();
      members[1].turn();
      return count() == 2 + 2 + 2 * 2;
    }));
  }
  EXPECT_EQ(open_sockets(), before);
}

// The executors of a group whose channels are made on demand.
struct LazyGroup {
  explicit LazyGroup(int size) : members(size) {
    for (int rank = 0; rank < size; ++rank) {
      std::vector<std::unique_ptr<Channel>> channels;
      for (int other = 0; other < size; ++other) {
        channels.push_back(other == rank ? nullptr : std::make_unique<LazyChannel>(members.all[static_cast<std::size_t>(rank)], other));
      }
      executors.push_back(std::make_unique<MessageExecutor>(std::move(channels), rank, size, LocalRank{rank, size, 2}, false, 7, failure, nullptr));
    }
  }

  FailureWord failure{0};
  Members members;
  std::vector<std::unique_ptr<MessageExecutor>> executors;
};

// Sends bytes both ways over the connections of two members.
void expect_to_carry(Members& members) {
  LazyChannel lower(members.all[0], 1);
  LazyChannel higher(members.all[1], 0);
  std::vector<std::byte> sent(700'001);
  for (std::size_t at = 0; at < sent.size(); ++at) sent[at] = static_cast<std::byte>(at * at >> 3);
  Channel* const ends[] = {&lower, &higher};
  for (const int from : {0, 1}) {
    std::vector<std::byte> came(sent.size());
    std::size_t gone = 0;
    std::size_t filled = 0;
    EXPECT_TRUE(await([&] {
      for (bool moves = true; moves;) {
        const iovec part{sent.data() + gone, sent.size() - gone};
        const ssize_t out = ends[from]->send(&part, 1);
        if (out > 0) gone += static_cast<std::size_t>(out);
        const iovec into{came.data() + filled, came.size() - filled};
        const ssize_t in = ends[1 - from]->receive(&into, 1);
        if (in > 0) filled += static_cast<std::size_t>(in);
        moves = out > 0 || in > 0;
      }
      return filled == sent.size();
    }));
    EXPECT_EQ(came, sent);
  }
}

TEST(SealedDataConnections, CarryBytesBothWaysOverSeveralConnections) {
  if (!has_openssl()) GTEST_SKIP() << "no OpenSSL 3 for this platform";
  Members members(2, 3, milliseconds(20'000), true);
  expect_to_carry(members);
}

TEST(ChecksummedDataConnections, CarryBytesBothWaysOverSeveralConnections) {
  Members members(2, 3, milliseconds(20'000), false, true);
  expect_to_carry(members);
}

// Ranks that wait for each other on one core move apart only if they know it.
TEST(SealedDataConnections, TellTheCoreOfAPeerOnTheSameHost) {
  if (!has_openssl()) GTEST_SKIP() << "no OpenSSL 3 for this platform";
  Members members(2, 1, milliseconds(20'000), true);
  LazyChannel lower(members.all[0], 1);
  LazyChannel higher(members.all[1], 0);
  std::byte sent{};
  std::byte came{};
  const iovec out{&sent, 1};
  const iovec in{&came, 1};
  ASSERT_TRUE(await([&] {
    lower.receive(&in, 1);
    return higher.send(&out, 1) == 1;
  }));
  EXPECT_TRUE(await([&] { return lower.receive(&in, 1) == 1; }));
  EXPECT_GE(lower.core_of_peer(), 0);
  EXPECT_LT(lower.core_of_peer(), sysconf(_SC_NPROCESSORS_CONF));
}

// The request travels in clear, so anybody may copy it.
TEST(SealedDataConnections, AdmitTheMemberAfterACopyOfItsRequest) {
  if (!has_openssl()) GTEST_SKIP() << "no OpenSSL 3 for this platform";
  Members members(2, 1, milliseconds(20'000), true);
  const Hello hello = hello_of(1);
  const Stranger silent(members.port(0));
  silent.say(&hello, sizeof hello);
  const Stranger wrong(members.port(0));
  wrong.say(&hello, sizeof hello);
  wrong.say(&hello, sizeof hello);
  EXPECT_TRUE(await([&] {
    members[0].turn();
    char byte = 0;
    // An alert of TLS may come first.
    while (recv(wrong.socket, &byte, 1, 0) == 1) continue;
    return wrong.has_ended();
  }));
  expect_to_carry(members);
}

TEST(SealedDataConnections, ReportAnImpostor) {
  if (!has_openssl()) GTEST_SKIP() << "no OpenSSL 3 for this platform";
  // Rank 0 has other keys: its connections are not sealed.
  Members members(2, 1, milliseconds(300), true);
  DataListener listener("127.0.0.1");
  std::vector<DataPeer> peers;
  peers.push_back({DataAddress("127.0.0.1", members.port(0)), {{half(0, 1, 0, 1), half(0, 1, 0, 9)}}, true});
  peers.push_back({DataAddress("127.0.0.1", listener.port), {}, true});
  DataConnections other(1, listener.socket, std::move(peers), milliseconds(300));
  std::string text;
  ASSERT_TRUE(await([&] {
    members[0].turn();
    try {
      return other.take(0).has_value();
    } catch (const Error& error) {
      text = error.what();
      return true;
    }
  }));
  EXPECT_NE(text.find("cannot open a data connection with rank 0"), std::string::npos) << text;
  EXPECT_NE(text.find("the TLS handshake failed"), std::string::npos) << text;
}

TEST(LazyChannel, ARingOfEightRanksMakesOneConnectionPerNeighbour) {
  const std::size_t before = open_sockets();
  LazyGroup group(8);
  EXPECT_EQ(open_sockets() - before, 8u);
  std::mt19937 random(1);
  const Schedule schedule = ring_all_reduce(Op::kSum, DType::kFloat32, 8);
  for (int round = 0; round < 3; ++round) {
    Case data(schedule, 5000, {0}, false, random);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 8; ++rank) {
      threads.emplace_back([&, rank] {
        // The last ranks start late.
        if (round == 0) std::this_thread::sleep_for(milliseconds(5 * rank));
        EXPECT_EQ(execute_to_end(*group.executors[static_cast<std::size_t>(rank)], data.offers[static_cast<std::size_t>(rank)]), Status::kDone);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(data.first_wrong(), -1);
    // Each of the eight connections has two ends.
    EXPECT_EQ(open_sockets() - before, 8u + 2 * 8u);
  }
}

TEST(LazyChannel, WaitsForARankThatEndsBeforeItConnectsUntilTheGroupFails) {
  for (const std::size_t rank : {0u, 1u}) {
    LazyGroup group(2);
    std::mt19937 random(1);
    Case data(ring_all_reduce(Op::kSum, DType::kFloat32, 2), 1000, {0}, false, random);
    MessageExecutor& executor = *group.executors[rank];
    EXPECT_EQ(executor.execute(data.offers[rank], milliseconds(5)), Status::kWaiting);
    group.members[1 - rank].close();
    EXPECT_EQ(executor.execute(data.offers[rank], milliseconds(120)), Status::kWaiting);
    group.failure = 1;
    EXPECT_EQ(executor.execute(data.offers[rank], milliseconds(5)), Status::kFailed);
  }
}

}  // namespace
}  // namespace coll::test

#endif
