#if defined(__linux__)

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "message_group.h"
#include "processes/control_connection.h"
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
