#if defined(__linux__)

#include "processes/end_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

namespace coll::test {
namespace {

using std::chrono::milliseconds;

// Longer than a busy machine suspends any thread.
constexpr milliseconds kLong{100'000};

struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
  ~Pair() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2]{};
};

TEST(EndSockets, WaitsUntilTheOtherSideHasReadEverythingAndEnded) {
  Pair pair;
  ASSERT_EQ(write(pair.ends[0], "last", 4), 4);
  std::string received;
  std::thread reader([&] {
    std::array<char, 16> bytes{};
    for (ssize_t count = 1; count > 0;) {
      count = read(pair.ends[1], bytes.data(), bytes.size());
      if (count > 0) received.append(bytes.data(), static_cast<std::size_t>(count));
    }
    shutdown(pair.ends[1], SHUT_WR);
  });
  end_sockets({pair.ends[0]}, kLong);
  reader.join();
  EXPECT_EQ(received, "last");
}

TEST(EndSockets, DropsWhatTheOtherSideStillSends) {
  Pair pair;
  ASSERT_EQ(write(pair.ends[1], "unread", 6), 6);
  shutdown(pair.ends[1], SHUT_WR);
  end_sockets({pair.ends[0]}, kLong);
  char byte = 0;
  EXPECT_EQ(recv(pair.ends[0], &byte, 1, MSG_DONTWAIT), 0);
}

TEST(EndSockets, ReturnsAfterTheTimeIfTheOtherSideNeverEnds) {
  Pair pair;
  end_sockets({pair.ends[0]}, milliseconds(20));
  char byte = 0;
  EXPECT_EQ(recv(pair.ends[0], &byte, 1, MSG_DONTWAIT), -1);
}

}  // namespace
}  // namespace coll::test

#endif
