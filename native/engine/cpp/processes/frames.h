#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "calls.h"
#include "failure.h"

namespace coll {

// The messages between members, apart from data. A frame is: the length of the rest in four bytes,
// little-endian; its kind; a body.
enum class FrameKind : std::uint8_t { kBeat = 1, kAsk, kAnswer, kFailure, kAnnounced, kLeft, kCompleted, kOpened };
constexpr std::size_t kMostFrameBytes = 4096;

struct Frame {
  FrameKind kind;
  std::string body;
};

// Identifies a question about a collective, and the round of that question.
struct Asked {
  std::uint64_t sequence = 0;
  std::uint32_t round = 0;
};

// The answer of a rank in a round.
struct RankAnswer {
  std::int32_t rank = 0;
  std::uint32_t round = 0;
  Answer answer;
};

// A rank and a number of collectives.
struct RankCount {
  std::int32_t rank = 0;
  std::uint64_t collectives = 0;
};

std::string beat_frame();
// `bits`: the bits of a roll of the group's ranks.
std::string opened_frame(const std::string& bits);
std::string announced_frame(const std::string& bits);
std::string ask_frame(const Asked& asked);
std::string answer_frame(const RankAnswer& answer);
// A text that is too long is shortened.
std::string failure_frame(const Failure& failure);
std::string left_frame(const RankCount& left);
std::string completed_frame(const RankCount& completed);

std::optional<Asked> asked_of(const Frame& frame);
std::optional<RankAnswer> answer_of(const Frame& frame);
// The contents of a frame of kind kLeft or kCompleted.
std::optional<RankCount> count_of(const Frame& frame);
std::optional<Failure> failure_of(const Frame& frame);

// Cuts a stream into frames. Its buffer has a fixed size.
class FrameReader {
 public:
  // room(), room_bytes(): the memory for the next bytes, and its size.
  char* room() { return bytes_.data() + filled_; }
  std::size_t room_bytes() const { return bytes_.size() - filled_; }
  void add(std::size_t count) { filled_ += count; }
  // The next complete frame.
  std::optional<Frame> next();
  // Whether the stream contained something that is not a frame.
  bool is_broken() const { return is_broken_; }

 private:
  std::array<char, kMostFrameBytes + 4> bytes_{};
  std::size_t filled_ = 0;
  bool is_broken_ = false;
};

}  // namespace coll
