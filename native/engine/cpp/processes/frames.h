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
enum class FrameKind : std::uint8_t { kBeat = 1, kAsk, kAnswer, kFailure, kLeft, kOpened };
constexpr std::size_t kMostFrameBytes = 4096;

struct Frame {
  FrameKind kind;
  std::string body;
};

std::string beat_frame();
std::string opened_frame();
std::string ask_frame(std::uint64_t sequence);
std::string answer_frame(const Answer& answer);
// Text that is too long is cut.
std::string failure_frame(const Failure& failure);
std::string left_frame(std::uint64_t collectives);

// The number in a frame of kind kAsk or kLeft.
std::optional<std::uint64_t> number_of(const Frame& frame);
std::optional<Answer> answer_of(const Frame& frame);
std::optional<Failure> failure_of(const Frame& frame);

// Cuts a stream into frames. Its buffer has a fixed size.
class FrameReader {
 public:
  // Where to write the next bytes, and how many fit.
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
