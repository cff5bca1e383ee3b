#if defined(__linux__)

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

#include "message_group.h"
#include "messages/inbox.h"

namespace coll::test {
namespace {

// Sends pieces of random sizes from one end to the other and compares, both ways at once.
void exchange_bytes(Channel& one, Channel& other, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> sent(700001);
  for (std::byte& byte : sent) byte = static_cast<std::byte>(random());
  struct Transfer {
    Channel& from;
    Channel& to;
    std::vector<std::byte> came;
    std::size_t gone = 0;
  };
  Transfer transfers[] = {{one, other, {}}, {other, one, {}}};
  while (transfers[0].came.size() < sent.size() || transfers[1].came.size() < sent.size()) {
    for (Transfer& transfer : transfers) {
      const std::size_t first = std::min<std::size_t>(random() % 70000, sent.size() - transfer.gone);
      const std::size_t second = std::min<std::size_t>(random() % 70000, sent.size() - transfer.gone - first);
      const iovec parts[] = {{sent.data() + transfer.gone, first}, {sent.data() + transfer.gone + first, second}};
      const ssize_t gone = transfer.from.send(parts, 2);
      ASSERT_GE(gone, 0);
      transfer.gone += static_cast<std::size_t>(gone);
      std::vector<std::byte> room(1 + random() % 90000);
      const iovec into{room.data(), room.size()};
      const ssize_t came = transfer.to.receive(&into, 1);
      ASSERT_GE(came, 0);
      transfer.came.insert(transfer.came.end(), room.begin(), room.begin() + came);
    }
  }
  EXPECT_EQ(transfers[0].came, sent);
  EXPECT_EQ(transfers[1].came, sent);
}

TEST(TcpChannel, KeepsTheOrderOfBytesOverAnyNumberOfSockets) {
  for (const std::size_t sockets : {1u, 2u, 5u}) {
    std::vector<int> ones;
    std::vector<int> others;
    for (std::size_t i = 0; i < sockets; ++i) {
      const auto [one, other] = tcp_pair();
      ones.push_back(one);
      others.push_back(other);
    }
    TcpChannel one(ones);
    TcpChannel other(others);
    exchange_bytes(one, other, static_cast<unsigned>(sockets));
  }
}

TEST(TcpChannel, KeepsTheOrderOfPartsOfAnySize) {
  const auto [one, other] = tcp_pair();
  TcpChannel from({one});
  TcpChannel to({other});
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> sent(4 * 400);
    for (std::byte& byte : sent) byte = static_cast<std::byte>(random());
    std::vector<iovec> parts;
    std::size_t bytes = 0;
    for (int part = 0; part < 4; ++part) {
      const std::size_t size = round % 2 == 0 ? random() % 400 : random() % 30;
      parts.push_back({sent.data() + bytes, size});
      bytes += size;
    }
    ASSERT_EQ(from.send(parts.data(), 4), static_cast<ssize_t>(bytes));
    std::vector<std::byte> came(bytes);
    for (std::size_t done = 0; done < bytes;) {
      const iovec into[] = {{came.data() + done, (bytes - done + 1) / 2}, {came.data() + done + (bytes - done + 1) / 2, (bytes - done) / 2}};
      const ssize_t received = to.receive(into, 2);
      ASSERT_GE(received, 0);
      done += static_cast<std::size_t>(received);
    }
    sent.resize(bytes);
    ASSERT_EQ(came, sent);
  }
}

TEST(TcpChannel, ReportsTheEndOfTheStreamAndAReset) {
  const auto [own, peer] = tcp_pair();
  TcpChannel channel({own});
  char byte = 0;
  const iovec part{&byte, 1};
  EXPECT_EQ(channel.receive(&part, 1), 0);
  close(peer);
  ssize_t received = 0;
  while ((received = channel.receive(&part, 1)) == 0) std::this_thread::yield();
  EXPECT_EQ(received, -1);
  EXPECT_EQ(errno, 0);
  while (channel.send(&part, 1) >= 0) std::this_thread::yield();
  EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET);
}

TEST(TcpChannel, AcceptsKnownOptionsAndRefusesUnknownOptions) {
  const auto [one, other] = tcp_pair();
  const auto [third, fourth] = tcp_pair();
  const TcpChannel reno({one}, {"reno", 100000, 50000});
  char name[16]{};
  socklen_t size = sizeof name;
  ASSERT_EQ(getsockopt(one, IPPROTO_TCP, 13 /* TCP_CONGESTION */, name, &size), 0);
  EXPECT_STREQ(name, "reno");
  EXPECT_THROW(TcpChannel({third}, {"nonesuch", 0, 0}), Error);
  EXPECT_THROW(TcpChannel({}, TcpOptions{}), Error);
  // The channel owns the socket and has closed it.
  EXPECT_EQ(fcntl(third, F_GETFD), -1);
  for (const int socket : {other, fourth}) close(socket);
}

TEST(RingChannel, KeepsTheOrderOfBytes) {
  for (const std::size_t bytes : {std::size_t{16} * 1024, std::size_t{100000}, std::size_t{512} * 1024}) {
    SharedLines memory(bytes);
    RingChannel lower(memory.begin(), bytes, true);
    RingChannel higher(memory.begin(), bytes, false);
    exchange_bytes(lower, higher, 7);
  }
}

// An action of one end wakes the other one long before its sleep of 200 seconds would end. The bell
// of the lower end comes after the counts of both rings.
TEST(RingChannel, WakesThePeerWhenItSendsOrReceives) {
  constexpr std::size_t bytes = 16 * 1024;
  SharedLines memory(bytes);
  RingChannel lower(memory.begin(), bytes, true);
  RingChannel higher(memory.begin(), bytes, false);
  auto* const bell = reinterpret_cast<std::atomic<std::uint32_t>*>(memory.begin() + 4 * kCacheLine);
  const auto& rung = bell[0];
  const auto& is_asleep = bell[1];
  std::byte byte{};
  const iovec part{&byte, 1};
  for (std::uint32_t round = 0; round < 200; ++round) {
    const bool sends = round % 2 == 0;
    if (!sends) {
      ASSERT_EQ(lower.send(&part, 1), 1);
    }
    std::thread sleeper([&] { lower.sleep(200'000); });
    while (is_asleep == 0) std::this_thread::yield();
    // Gives the other end time to fall asleep. On busy cores, a yield takes milliseconds.
    const auto begin = std::chrono::steady_clock::now();
    for (int turn = 0; turn < 100 && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1); ++turn) std::this_thread::yield();
    ASSERT_EQ(sends ? higher.send(&part, 1) : higher.receive(&part, 1), 1);
    sleeper.join();
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
    EXPECT_EQ(rung, round + 1);
    // Receives, so that this end learns what the other end has done.
    ASSERT_EQ(sends ? lower.receive(&part, 1) : lower.send(nullptr, 0), sends ? 1 : 0);
  }
}

TEST(RingChannel, RefusesTooSmallOrMisalignedMemory) {
  SharedLines memory(32 * 1024);
  EXPECT_THROW(RingChannel(memory.begin(), 16 * 1024 - 1, true), Error);
  EXPECT_THROW(RingChannel(memory.begin() + 8, 16 * 1024, true), Error);
}

TEST(RingChannel, RefusesImpossibleCounts) {
  SharedLines memory(16 * 1024);
  RingChannel channel(memory.begin(), 16 * 1024, true);
  std::fill_n(memory.begin(), 4 * kCacheLine, std::byte{0x7f});
  char byte = 0;
  const iovec part{&byte, 1};
  EXPECT_EQ(channel.receive(&part, 1), -1);
  EXPECT_EQ(errno, EPROTO);
  EXPECT_EQ(channel.send(&part, 1), -1);
}

TEST(Inbox, KeepsTheOffsetOfEveryByteWithinItsCacheLine) {
  Inbox inbox(256 * 1024);
  std::mt19937 random(1);
  std::size_t passed = 0;  // of the stream
  for (int round = 0; round < 20000; ++round) {
    if (inbox.size() == 0 && random() % 4 == 0) {
      const std::size_t elsewhere = random() % 1000;
      inbox.pass(elsewhere);
      passed += elsewhere;
    }
    const iovec room = inbox.room();
    inbox.add(std::min<std::size_t>(room.iov_len, random() % 100000));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(inbox.data()) % kCacheLine, passed % kCacheLine);
    const std::size_t used = random() % 3 == 0 ? inbox.size() : random() % (inbox.size() + 1);
    inbox.drop(used);
    passed += used;
  }
}

}  // namespace
}  // namespace coll::test

#endif
