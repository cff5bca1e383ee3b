#if defined(__linux__)

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <random>

#include "message_group.h"
#include "sealing_case.h"

namespace coll::test {
namespace {

constexpr iovec part_of(std::byte* bytes, std::size_t count) { return {bytes, count}; }

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Two ends, and a network between them that the test may change: bytes wait in it until `deliver`.
class SealedStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_openssl()) GTEST_SKIP() << "no OpenSSL 3 for this platform";
  }
  ~SealedStreams() override { close_sockets(); }

  void open(const Seal& connecting = seal_of(1), const Seal& accepting = seal_of(1), const SealOptions& options = {}, const SealOptions& accepting_options = {}) {
    close_sockets();
    const auto [one, near] = socket_pair();
    const auto [other, far] = socket_pair();
    ends_[0] = std::make_unique<SealedStream>(one, SealedEnd::kConnecting, connecting, options);
    ends_[1] = std::make_unique<SealedStream>(other, SealedEnd::kAccepting, accepting, accepting_options);
    network_[0] = near;
    network_[1] = far;
    sockets_ = {one, near, other, far};
    for (const int end : {0, 1}) {
      passed_[end] = 0;
      sent_[end].clear();
      waiting_[end].clear();
    }
  }

  void close_sockets() const {
    for (const int socket : sockets_) close(socket);
  }

  SealedStream& connecting() { return *ends_[0]; }
  SealedStream& accepting() { return *ends_[1]; }

  // Passes on what the end `from` has sent, as far as the other end has room. `change` sees each byte
  // and its place in the stream. Returns whether anything moved.
  bool deliver(int from, const std::function<std::byte(std::size_t at, std::byte byte)>& change = nullptr) {
    std::byte bytes[1 << 16];
    const ssize_t count = recv(network_[from], bytes, sizeof bytes, MSG_DONTWAIT);
    for (ssize_t i = 0; i < count; ++i) {
      const std::size_t at = passed_[from]++;
      waiting_[from].push_back(change ? change(at, bytes[i]) : bytes[i]);
    }
    if (waiting_[from].empty()) return false;
    const ssize_t sent = send(network_[1 - from], waiting_[from].data(), waiting_[from].size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    const auto end = waiting_[from].begin() + sent;
    sent_[from].insert(sent_[from].end(), waiting_[from].begin(), end);
    waiting_[from].erase(waiting_[from].begin(), end);
    return true;
  }

  // Lets both ends make the handshake. Returns whether both have.
  bool shake() {
    for (int left = 20; left > 0; --left) {
      const bool is_first = connecting().shake();
      deliver(0);
      const bool is_second = accepting().shake();
      deliver(1);
      if (is_first && is_second) return true;
    }
    return false;
  }

  // Sends all bytes in parts, and receives what the other end gets, until nothing moves any more.
  std::vector<std::byte> carry(int from, std::vector<std::byte> bytes, std::size_t part, std::size_t room, const std::function<std::byte(std::size_t, std::byte)>& change = nullptr) {
    std::vector<std::byte> came;
    std::vector<std::byte> into(room);
    for (std::size_t gone = 0, idle = 0; came.size() < bytes.size() && idle < 10; ++idle) {
      std::vector<iovec> parts;
      for (std::size_t at = gone; at < bytes.size() && parts.size() < 8; at += part) parts.push_back(part_of(bytes.data() + at, std::min(part, bytes.size() - at)));
      const ssize_t sent = ends_[from]->send(parts.data(), static_cast<int>(parts.size()));
      if (sent > 0) gone += static_cast<std::size_t>(sent);
      while (deliver(from, change)) continue;
      const iovec parts_in[] = {part_of(into.data(), room / 2), part_of(into.data() + room / 2, room - room / 2)};
      for (ssize_t count = 0; (count = ends_[1 - from]->receive(parts_in, 2)) > 0; idle = 0) came.insert(came.end(), into.begin(), into.begin() + count);
    }
    return came;
  }

  std::unique_ptr<SealedStream> ends_[2];
  int network_[2] = {-1, -1};
  std::size_t passed_[2] = {0, 0};
  std::vector<std::byte> sent_[2];
  std::vector<std::byte> waiting_[2];
  std::vector<int> sockets_;
};

TEST_F(SealedStreams, CarryAnyNumberOfBytesInPartsOfAnySize) {
  open();
  ASSERT_TRUE(shake()) << connecting().problem() << accepting().problem();
  unsigned seed = 0;
  for (const std::size_t bytes : {1u, 100u, 16383u, 16384u, 16385u, 100'000u, 1'000'000u}) {
    for (const std::size_t part : {1u, 7u, 5000u, 16384u, 40'000u, 1'000'000u}) {
      if (bytes / part > 3000) continue;
      const std::vector<std::byte> sent = random_bytes(bytes, ++seed);
      ASSERT_EQ(carry(static_cast<int>(seed % 2), sent, part, 1 + seed * 7919 % 60'000), sent) << bytes << " bytes in parts of " << part;
    }
  }
}

TEST_F(SealedStreams, ReportNoByteAsSentThatTheSystemHasNotTaken) {
  open();
  ASSERT_TRUE(shake());
  std::vector<std::byte> bytes = random_bytes(4'000'000, 1);
  std::size_t sent = 0;
  // Until the system takes no more.
  for (;;) {
    const iovec part = part_of(bytes.data() + sent, bytes.size() - sent);
    const ssize_t count = connecting().send(&part, 1);
    ASSERT_GE(count, 0);
    if (count == 0) break;
    sent += static_cast<std::size_t>(count);
  }
  EXPECT_TRUE(connecting().has_unsent());
  std::vector<std::byte> came;
  std::vector<std::byte> room(100'000);
  const auto receive = [&] {
    while (deliver(0)) {
      const iovec into = part_of(room.data(), room.size());
      for (ssize_t count = 0; (count = accepting().receive(&into, 1)) > 0;) came.insert(came.end(), room.begin(), room.begin() + count);
    }
  };
  receive();
  EXPECT_GE(came.size(), sent);
  // A shorter call than the one that was blocked.
  while (sent < bytes.size()) {
    const iovec part = part_of(bytes.data() + sent, std::min<std::size_t>(1000, bytes.size() - sent));
    const ssize_t count = connecting().send(&part, 1);
    ASSERT_GE(count, 0);
    sent += static_cast<std::size_t>(count);
    receive();
  }
  EXPECT_EQ(came, bytes);
}

TEST_F(SealedStreams, RenewTheirKeysBeforeTheLimit) {
  SealOptions options;
  options.records_per_key = 3;
  open(seal_of(1), seal_of(1), options);
  ASSERT_TRUE(shake());
  const std::vector<std::byte> sent = random_bytes(40 * 16384, 2);
  EXPECT_EQ(carry(0, sent, 16384, 50'000), sent);
  EXPECT_EQ(carry(1, sent, 16384, 50'000), sent);
}

TEST_F(SealedStreams, UseTheSuiteThatSuitsBothProcessors) {
  const std::string aes = "TLS_AES_128_GCM_SHA256";
  const std::string chacha = "TLS_CHACHA20_POLY1305_SHA256";
  for (const bool is_first_slow : {false, true}) {
    for (const bool is_second_slow : {false, true}) {
      const auto options = [&](bool is_slow) {
        SealOptions options;
        options.ciphers = is_slow ? chacha + ":" + aes : aes + ":" + chacha;
        return options;
      };
      open(seal_of(1), seal_of(1), options(is_first_slow), options(is_second_slow));
      EXPECT_EQ(connecting().cipher(), "");
      ASSERT_TRUE(shake());
      const std::string& expected = is_first_slow || is_second_slow ? chacha : aes;
      EXPECT_EQ(connecting().cipher(), expected);
      EXPECT_EQ(accepting().cipher(), expected);
      const std::vector<std::byte> sent = random_bytes(50'000, 3);
      EXPECT_EQ(carry(0, sent, 50'000, 50'000), sent);
    }
  }
}

TEST_F(SealedStreams, TellATruncationFromAnEnd) {
  std::byte byte{};
  const iovec part = part_of(&byte, 1);
  for (const bool is_clean : {true, false}) {
    open();
    ASSERT_TRUE(shake());
    if (is_clean) connecting().end();
    while (deliver(0)) continue;
    shutdown(network_[1], SHUT_WR);
    errno = 1;
    EXPECT_EQ(accepting().receive(&part, 1), -1);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(accepting().has_ended(), is_clean);
  }
}

TEST_F(SealedStreams, RefuseAnotherKeyAndAnotherIdentity) {
  Seal other_key = seal_of(1);
  other_key.key[31] = std::byte{99};
  Seal other_identity = seal_of(1);
  other_identity.identity[31] = std::byte{99};
  for (const Seal& other : {other_key, other_identity}) {
    open(seal_of(1), other);
    EXPECT_FALSE(shake());
    EXPECT_TRUE(accepting().has_failed());
    EXPECT_TRUE(connecting().has_failed());
    EXPECT_NE(accepting().problem().find("handshake failed"), std::string::npos) << accepting().problem();
    EXPECT_NE(connecting().problem().find("handshake failed"), std::string::npos) << connecting().problem();
  }
}

// Two ends that play the same part.
TEST_F(SealedStreams, RefuseAReflection) {
  open();
  connecting().shake();
  std::byte bytes[4096];
  const ssize_t count = recv(network_[0], bytes, sizeof bytes, MSG_DONTWAIT);
  ASSERT_GT(count, 0);
  ASSERT_EQ(send(network_[0], bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL), count);
  EXPECT_FALSE(connecting().shake());
  EXPECT_TRUE(connecting().has_failed());
}

// Both ends make another handshake each time, even with the same key.
TEST_F(SealedStreams, RefuseARecordedConnection) {
  open();
  ASSERT_TRUE(shake());
  const std::vector<std::byte> secret = random_bytes(100, 4);
  ASSERT_EQ(carry(0, secret, 100, 100), secret);
  const std::vector<std::byte> recorded = sent_[0];
  open();
  ASSERT_EQ(send(network_[1], recorded.data(), recorded.size(), MSG_NOSIGNAL), static_cast<ssize_t>(recorded.size()));
  std::byte byte{};
  const iovec part = part_of(&byte, 1);
  EXPECT_EQ(accepting().receive(&part, 1), -1);
  EXPECT_EQ(errno, EBADMSG);
}

// No bit of the handshake and of the first records can be changed: the end that gets it delivers
// nothing from there on, and the other end learns of it. Another --gtest_random_seed changes other
// bits.
TEST_F(SealedStreams, DetectEveryChangedByte) {
  const std::vector<std::byte> sent = random_bytes(300, 5);
  open();
  ASSERT_TRUE(shake());
  ASSERT_EQ(carry(0, sent, 100, 300), sent);
  ASSERT_EQ(carry(1, sent, 100, 300), sent);
  const std::size_t lengths[] = {passed_[0], passed_[1]};
  std::mt19937 random(static_cast<unsigned>(GTEST_FLAG_GET(random_seed)));
  std::size_t changed = 0;
  for (const int from : {0, 1}) {
    for (std::size_t at = 0; at < lengths[from]; ++at) {
      const auto bit = std::byte{1} << (random() % 8);
      const auto change = [&](std::size_t place, std::byte byte) { return place == at ? byte ^ bit : byte; };
      open();
      for (int left = 4; left > 0; --left) {
        connecting().shake();
        while (deliver(0, from == 0 ? std::function<std::byte(std::size_t, std::byte)>(change) : nullptr)) continue;
        accepting().shake();
        while (deliver(1, from == 1 ? std::function<std::byte(std::size_t, std::byte)>(change) : nullptr)) continue;
      }
      const std::vector<std::byte> there = carry(0, sent, 100, 300, from == 0 ? std::function<std::byte(std::size_t, std::byte)>(change) : nullptr);
      const std::vector<std::byte> back = carry(1, sent, 100, 300, from == 1 ? std::function<std::byte(std::size_t, std::byte)>(change) : nullptr);
      for (const std::vector<std::byte>* came : {&there, &back}) ASSERT_TRUE(std::equal(came->begin(), came->end(), sent.begin())) << "byte " << at << " of end " << from;
      const std::vector<std::byte>& hit = from == 0 ? there : back;
      // TLS ignores the minor version of the first record of each end, and gives it no meaning.
      constexpr std::size_t kMinorVersion = 2;
      if (at == kMinorVersion) continue;
      // The change hits the length of a record: the rest of the record never comes.
      const bool is_stuck = !ends_[1 - from]->has_failed();
      ASSERT_LT(hit.size(), sent.size()) << "byte " << at << " of end " << from << " was not authenticated";
      if (is_stuck) continue;
      ++changed;
      std::byte byte{};
      const iovec part = part_of(&byte, 1);
      while (deliver(1 - from)) continue;
      // An end that has failed is closed, also if it could not say why.
      shutdown(network_[from], SHUT_WR);
      ends_[from]->receive(&part, 1);
      ASSERT_TRUE(ends_[from]->has_failed()) << "byte " << at << " of end " << from;
    }
  }
  EXPECT_GT(changed, (lengths[0] + lengths[1]) * 9 / 10);
}

TEST_F(SealedStreams, NeverDeliverRandomBytes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    open();
    const bool is_open = seed % 2 == 0;
    if (is_open) {
      ASSERT_TRUE(shake());
    }
    std::vector<std::byte> noise = random_bytes(1 + seed * 37, seed);
    // As if it were a record, so that it is decrypted.
    if (seed % 4 == 0) {
      const std::size_t length = noise.size();
      const std::byte head[] = {std::byte{23}, std::byte{3}, std::byte{3}, static_cast<std::byte>(length >> 8), static_cast<std::byte>(length & 255)};
      noise.insert(noise.begin(), head, head + 5);
    }
    for (const int end : {0, 1}) {
      ASSERT_EQ(send(network_[end], noise.data(), noise.size(), MSG_NOSIGNAL), static_cast<ssize_t>(noise.size()));
      std::byte bytes[1000];
      const iovec part = part_of(bytes, sizeof bytes);
      EXPECT_LE(ends_[end]->receive(&part, 1), 0);
    }
  }
}

}  // namespace
}  // namespace coll::test

#endif
