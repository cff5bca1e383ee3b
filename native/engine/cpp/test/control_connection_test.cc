#if defined(__linux__)

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "message_group.h"
#include "processes/control_connection.h"
#include "sealing/checksummed_stream.h"
#include "sealing_case.h"

namespace coll::test {
namespace {

// Both ends of a sealed control connection.
class SealedControl : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_openssl()) GTEST_SKIP() << "no OpenSSL 3 for this platform";
    open(seal_of(1), seal_of(1));
  }

  void open(const Seal& connecting, const Seal& accepting) {
    std::tie(sockets_[0], sockets_[1]) = socket_pair();
    const Seal* const seals[] = {&connecting, &accepting};
    for (const int end : {0, 1}) {
      auto stream = std::make_unique<SealedStream>(sockets_[end], end == 0 ? SealedEnd::kConnecting : SealedEnd::kAccepting, *seals[end]);
      ends_[end] = std::make_unique<ControlConnection>(sockets_[end], std::move(stream));
    }
  }

  // Lets both ends send and read until the end `to` has got a frame or has ended.
  std::optional<Frame> next(int to) {
    for (int left = 1000; left > 0; --left) {
      for (const int end : {0, 1}) {
        ends_[end]->flush();
        is_open_[end] = is_open_[end] && ends_[end]->read();
      }
      if (auto frame = ends_[to]->next()) return frame;
      if (!is_open_[to]) break;
    }
    return std::nullopt;
  }

  int sockets_[2] = {-1, -1};
  bool is_open_[2] = {true, true};
  std::unique_ptr<ControlConnection> ends_[2];
};

TEST_F(SealedControl, CarriesFramesBothWaysAndEnds) {
  for (const int from : {0, 1}) {
    for (int round = 0; round < 3; ++round) ends_[from]->send(beat_frame());
    ends_[from]->send(failure_frame({FailureKind::kFailed, from, "a reason", 0}));
  }
  for (const int to : {1, 0}) {
    for (int round = 0; round < 3; ++round) EXPECT_EQ(next(to)->kind, FrameKind::kBeat);
    const auto failure = failure_of(*next(to));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->text, "a reason");
  }
  ends_[0]->end();
  EXPECT_FALSE(next(1));
  EXPECT_FALSE(is_open_[1]);
  EXPECT_FALSE(ends_[1]->is_broken());
}

TEST_F(SealedControl, BelievesNoFrameThatSomebodyElseHasWritten) {
  ends_[0]->send(beat_frame());
  ASSERT_TRUE(next(1));
  const std::string forged = failure_frame({FailureKind::kFailed, 0, "forged", 0});
  ASSERT_EQ(send(sockets_[0], forged.data(), forged.size(), MSG_NOSIGNAL), static_cast<ssize_t>(forged.size()));
  EXPECT_FALSE(next(1));
  EXPECT_TRUE(ends_[1]->is_broken());
  EXPECT_FALSE(is_open_[1]);
  // The other end learns of it.
  EXPECT_FALSE(next(0));
  EXPECT_FALSE(is_open_[0]);
}

// Whatever arrives in the place of a frame.
TEST(ChecksummedControl, CarriesFramesAndBelievesNoneThatWasChanged) {
  const std::string frame = failure_frame({FailureKind::kFailed, 0, "a reason", 0});
  const auto ends = [] {
    const auto [one, other] = socket_pair();
    return std::make_pair(std::make_unique<ControlConnection>(one, std::make_unique<ChecksummedStream>(one)), other);
  };
  const auto [sender, wire] = ends();
  sender->send(beat_frame());
  sender->send(frame);
  sender->flush();
  EXPECT_FALSE(sender->has_unsent());
  char bytes[200];
  const ssize_t count = recv(wire, bytes, sizeof bytes, MSG_DONTWAIT);
  close(wire);
  ASSERT_GT(count, static_cast<ssize_t>(frame.size()));
  for (ssize_t bit = -1; bit < 8 * count; ++bit) {
    std::string changed(bytes, static_cast<std::size_t>(count));
    if (bit >= 0) changed[static_cast<std::size_t>(bit / 8)] = static_cast<char>(changed[static_cast<std::size_t>(bit / 8)] ^ (1 << (bit % 8)));
    const auto [receiver, near] = ends();
    ASSERT_EQ(send(near, changed.data(), changed.size(), MSG_NOSIGNAL), count);
    const bool is_open = receiver->read();
    EXPECT_EQ(is_open, bit < 0);
    EXPECT_EQ(receiver->is_broken(), bit >= 0);
    EXPECT_EQ(receiver->next().has_value(), bit < 0);
    close(near);
  }
}

TEST_F(SealedControl, SendsNothingToAnEndThatLacksTheKey) {
  open(seal_of(1), seal_of(2));
  for (const int from : {0, 1}) ends_[from]->send(beat_frame());
  for (const int to : {0, 1}) {
    EXPECT_FALSE(next(to));
    EXPECT_FALSE(is_open_[to]);
    EXPECT_TRUE(ends_[to]->is_broken());
  }
}

}  // namespace
}  // namespace coll::test

#endif
