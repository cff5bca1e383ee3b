#if defined(__linux__)

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>

#include "message_group.h"
#include "sealing/checksummed_stream.h"

namespace coll::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Two ends of a socket, one of which is a stream; the test reads or writes the other.
class ChecksummedStreams : public testing::Test {
 protected:
  ~ChecksummedStreams() override { close_sockets(); }

  void open() {
    close_sockets();
    std::tie(own_, raw_) = socket_pair();
    stream_ = std::make_unique<ChecksummedStream>(own_);
  }

  void close_sockets() const {
    for (const int socket : {own_, raw_}) {
      if (socket >= 0) close(socket);
    }
  }

  // What the stream writes for these parts.
  Bytes written(Bytes bytes, std::size_t part) {
    Bytes all;
    Bytes room(1 << 16);
    for (std::size_t gone = 0; gone < bytes.size();) {
      std::vector<iovec> parts;
      for (std::size_t at = gone; at < bytes.size() && parts.size() < 100; at += part) parts.push_back({bytes.data() + at, std::min(part, bytes.size() - at)});
      const ssize_t sent = stream_->send(parts.data(), static_cast<int>(parts.size()));
      EXPECT_GE(sent, 0);
      gone += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
      for (ssize_t count = 0; (count = recv(raw_, room.data(), room.size(), MSG_DONTWAIT)) > 0;) all.insert(all.end(), room.begin(), room.begin() + count);
    }
    return all;
  }

  void say(const Bytes& bytes) { ASSERT_EQ(send(raw_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT), static_cast<ssize_t>(bytes.size())); }

  // Receives until nothing is there; the last result is 0 or -1.
  ssize_t receive(Bytes& into, std::size_t room_bytes) {
    Bytes room(room_bytes);
    for (;;) {
      const iovec parts[] = {{room.data(), room_bytes / 2}, {room.data() + room_bytes / 2, room_bytes - room_bytes / 2}};
      const ssize_t count = stream_->receive(parts, 2);
      if (count <= 0) return count;
      into.insert(into.end(), room.begin(), room.begin() + count);
    }
  }

  int own_ = -1;
  int raw_ = -1;
  std::unique_ptr<ChecksummedStream> stream_;
};

TEST_F(ChecksummedStreams, CarryAnyNumberOfBytesInPartsOfAnySize) {
  unsigned seed = 0;
  for (const std::size_t bytes : {1u, 100u, 65535u, 65536u, 65537u, 1'000'000u}) {
    for (const std::size_t part : {1u, 7u, 5000u, 65536u, 100'000u}) {
      if (bytes / part > 20'000) continue;
      const Bytes sent = bytes_of(bytes, ++seed);
      open();
      const Bytes wire = written(sent, part);
      open();
      Bytes came;
      // In pieces that have nothing to do with the records.
      const std::size_t piece = 1 + seed * 7919 % 60'000;
      for (std::size_t at = 0; at < wire.size(); at += piece) {
        say(Bytes(wire.begin() + static_cast<std::ptrdiff_t>(at), wire.begin() + static_cast<std::ptrdiff_t>(std::min(at + piece, wire.size()))));
        ASSERT_EQ(receive(came, 1 + seed * 104'729 % 90'000), 0);
        ASSERT_FALSE(stream_->has_more());
      }
      ASSERT_EQ(came, sent) << bytes << " bytes in parts of " << part;
    }
  }
}

TEST_F(ChecksummedStreams, ContinueARecordOfWhichTheSystemHasTakenAPart) {
  open();
  Bytes bytes = bytes_of(4'000'000, 1);
  Bytes wire;
  Bytes room(10'000);
  for (std::size_t gone = 0; gone < bytes.size();) {
    // A shorter call than the one that was blocked, and a longer one.
    for (const std::size_t most : {std::size_t{300}, bytes.size()}) {
      const iovec part{bytes.data() + gone, std::min(most, bytes.size() - gone)};
      if (part.iov_len == 0) break;
      const ssize_t sent = stream_->send(&part, 1);
      ASSERT_GE(sent, 0);
      gone += static_cast<std::size_t>(sent);
    }
    const ssize_t count = recv(raw_, room.data(), room.size(), MSG_DONTWAIT);
    if (count > 0) wire.insert(wire.end(), room.begin(), room.begin() + count);
  }
  for (ssize_t count = 0; (count = recv(raw_, room.data(), room.size(), MSG_DONTWAIT)) > 0;) wire.insert(wire.end(), room.begin(), room.begin() + count);
  open();
  Bytes came;
  for (std::size_t at = 0; at < wire.size(); at += 50'000) {
    say(Bytes(wire.begin() + static_cast<std::ptrdiff_t>(at), wire.begin() + static_cast<std::ptrdiff_t>(std::min(at + 50'000, wire.size()))));
    ASSERT_EQ(receive(came, 64'000), 0);
  }
  EXPECT_TRUE(came == bytes);
}

// The record is refused at once: no changed length makes the reader wait.
TEST_F(ChecksummedStreams, RefuseARecordWithAnyChangedBit) {
  open();
  const Bytes first = bytes_of(50, 1);
  const Bytes second = bytes_of(200, 2);
  Bytes wire = written(first, 50);
  const std::size_t begin = wire.size();
  const Bytes more = written(second, 33);
  wire.insert(wire.end(), more.begin(), more.end());
  for (std::size_t bit = 0; bit < 8 * wire.size(); ++bit) {
    Bytes changed = wire;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    open();
    say(changed);
    Bytes came;
    ASSERT_EQ(receive(came, 64), -1) << "bit " << bit;
    ASSERT_EQ(errno, EBADMSG) << "bit " << bit;
    ASSERT_EQ(came, bit / 8 < begin ? Bytes{} : first) << "bit " << bit;
    const iovec part{changed.data(), changed.size()};
    ASSERT_EQ(stream_->receive(&part, 1), -1) << "it has failed for good";
  }
}

TEST_F(ChecksummedStreams, RefuseALostARepeatedAndAnExchangedRecord) {
  open();
  std::vector<Bytes> records;
  for (unsigned number = 0; number < 3; ++number) records.push_back(written(bytes_of(100, 7), 100));
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{1}, {0, 0}, {0, 2}, {1, 0, 2}}) {
    open();
    for (const std::size_t record : order) say(records[record]);
    Bytes came;
    EXPECT_EQ(receive(came, 1000), -1);
    EXPECT_EQ(errno, EBADMSG);
  }
}

TEST_F(ChecksummedStreams, EndWithTheConnectionAndDeliverNoPartOfARecord) {
  open();
  const Bytes sent = bytes_of(100, 8);
  const Bytes wire = written(sent, 100);
  for (const std::size_t cut : {std::size_t{5}, std::size_t{50}, wire.size()}) {
    open();
    say(Bytes(wire.begin(), wire.begin() + static_cast<std::ptrdiff_t>(cut)));
    shutdown(raw_, SHUT_WR);
    Bytes came;
    // The first call may find a part of a record only.
    const ssize_t first = receive(came, 1000);
    errno = first == 0 ? 1 : errno;
    EXPECT_EQ(first == 0 ? receive(came, 1000) : first, -1);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(came, cut == wire.size() ? sent : Bytes{});
  }
}

// A caller that polls the socket would wait for nothing.
TEST_F(ChecksummedStreams, TellThatTheyKeepBytes) {
  open();
  const Bytes wire = written(bytes_of(100, 9), 100);
  Bytes foreign = wire;
  foreign.resize(wire.size() + sizeof(ChecksummedStream::Header));
  for (const Bytes& bytes : {wire, foreign}) {
    open();
    say(bytes);
    std::byte room[100];
    const iovec half{room, 50};
    EXPECT_EQ(stream_->receive(&half, 1), 50);
    EXPECT_TRUE(stream_->has_more());
    const iovec rest{room, 100};
    EXPECT_EQ(stream_->receive(&rest, 1), 50);
    EXPECT_EQ(stream_->has_more(), bytes.size() > wire.size());
    EXPECT_EQ(stream_->receive(&rest, 1), bytes.size() > wire.size() ? -1 : 0);
    EXPECT_FALSE(stream_->has_more());
  }
}

}  // namespace
}  // namespace coll::test

#endif
