#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "processes/frames.h"

namespace coll::test {
namespace {

// Passes bytes to a reader in parts, and returns the frames that it found.
std::vector<Frame> read_in_parts(FrameReader& reader, const std::string& bytes, std::size_t part) {
  std::vector<Frame> frames;
  for (std::size_t at = 0; at < bytes.size() && !reader.is_broken();) {
    const std::size_t count = std::min({part, bytes.size() - at, reader.room_bytes()});
    std::memcpy(reader.room(), bytes.data() + at, count);
    reader.add(count);
    at += count;
    while (auto frame = reader.next()) frames.push_back(*frame);
  }
  return frames;
}

TEST(Frames, AreParsedAsTheyWereWritten) {
  Answer answer{7, 9, true, {}};
  answer.state[4] = 1000;
  answer.quiet_millis = 40'000;
  const Failure failure{FailureKind::kLost, 3, "was lost", 5, {1, 4}};
  const std::string bytes = beat_frame() + ask_frame({7, 3}) + answer_frame({4, 3, answer}) + failure_frame(failure) + left_frame({5, 12}) + opened_frame("bits");
  for (const std::size_t part : {1, 3, 100, 10000}) {
    FrameReader reader;
    const auto frames = read_in_parts(reader, bytes, part);
    ASSERT_EQ(frames.size(), 6u);
    EXPECT_EQ(frames[0].kind, FrameKind::kBeat);
    const auto asked = asked_of(frames[1]);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->sequence, 7u);
    EXPECT_EQ(asked->round, 3u);
    const auto read = answer_of(frames[2]);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->rank, 4);
    EXPECT_EQ(read->round, 3u);
    EXPECT_EQ(read->answer.sequence, 7u);
    EXPECT_TRUE(read->answer.has_come());
    EXPECT_EQ(read->answer.state, answer.state);
    EXPECT_EQ(read->answer.quiet_millis, 40'000u);
    const auto received = failure_of(frames[3]);
    ASSERT_TRUE(received);
    EXPECT_FALSE(*received < failure || failure < *received);
    EXPECT_EQ(received->after, failure.after);
    EXPECT_EQ(received->ranks, failure.ranks);
    const auto left = count_of(frames[4]);
    ASSERT_TRUE(left);
    EXPECT_EQ(left->rank, 5);
    EXPECT_EQ(left->collectives, 12u);
    EXPECT_EQ(frames[5].kind, FrameKind::kOpened);
    EXPECT_EQ(frames[5].body, "bits");
  }
}

TEST(Frames, TruncateLongTextBetweenCharacters) {
  FrameReader reader;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "\u00e9";
  const auto frames = read_in_parts(reader, failure_frame({FailureKind::kFailed, 0, text, 0, std::vector<std::int32_t>(1000, 7)}), 512);
  ASSERT_EQ(frames.size(), 1u);
  const auto failure = failure_of(frames[0]);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->ranks, std::vector<std::int32_t>(kMostOtherRanks, 7));
  EXPECT_GT(failure->text.size(), kMostFrameBytes - 300);
  EXPECT_EQ(failure->text.size() % 2, 0u);
}

TEST(Frames, RefuseFailuresWithMoreRanksThanTheyContain) {
  std::string body = failure_frame({FailureKind::kFailed, 0, "", 0, {1, 2}}).substr(5);
  ASSERT_TRUE(failure_of({FrameKind::kFailure, body}));
  EXPECT_FALSE(failure_of({FrameKind::kFailure, body.substr(0, body.size() - 1)}));
  char& count = body[body.size() - 9];
  ASSERT_EQ(count, 2);
  count = 65;
  EXPECT_FALSE(failure_of({FrameKind::kFailure, body + std::string(1000, 'x')}));
}

TEST(Frames, DropControlCharactersInMessages) {
  FrameReader reader;
  const auto frames = read_in_parts(reader, failure_frame({FailureKind::kFailed, 0, "a\x1b[2Jb\r\n\u00e9\x7f"}), 512);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(failure_of(frames[0])->text, "a [2Jb \n\u00e9 ");
}

TEST(Frames, RefuseUnknownKindsAndWrongLengths) {
  for (const std::uint32_t length : {0u, 4097u, 0xffffffffu}) {
    std::string bytes(5, '\1');
    std::memcpy(bytes.data(), &length, sizeof length);
    FrameReader reader;
    EXPECT_TRUE(read_in_parts(reader, bytes, 5).empty());
    EXPECT_TRUE(reader.is_broken());
  }
  std::string unknown = beat_frame();
  unknown[4] = 77;
  FrameReader reader;
  EXPECT_TRUE(read_in_parts(reader, unknown, 5).empty());
  EXPECT_TRUE(reader.is_broken());
}

TEST(Frames, AcceptOrRefuseAnyBytesWithoutCrashing) {
  std::mt19937 random(20);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = beat_frame() + answer_frame({}) + failure_frame({FailureKind::kLost, 1, "lost", 0, {2, 3}}) + left_frame({1, 1});
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    FrameReader reader;
    for (const Frame& frame : read_in_parts(reader, bytes, 1 + random() % 50)) {
      asked_of(frame);
      count_of(frame);
      answer_of(frame);
      failure_of(frame);
    }
  }
}

}  // namespace
}  // namespace coll::test
