#include "frames.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coll {
namespace {

// All members run on little-endian processors; the handshake refuses others.
template <class T>
void put(std::string& body, const T& value) {
  body.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Reads values from the front of a body. After an incomplete value, all further values are empty.
class Taker {
 public:
  explicit Taker(const std::string& body) : body_(body) {}

  template <class T>
  T take() {
    T value{};
    is_short_ = is_short_ || body_.size() - at_ < sizeof value;
    if (is_short_) return value;
    std::memcpy(&value, body_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string rest() const { return body_.substr(at_); }
  bool is_short() const { return is_short_; }
  bool is_whole() const { return !is_short_ && at_ == body_.size(); }

 private:
  const std::string& body_;
  std::size_t at_ = 0;
  bool is_short_ = false;
};

std::string frame(FrameKind kind, const std::string& body = {}) {
  std::string bytes;
  put(bytes, static_cast<std::uint32_t>(body.size() + 1));
  put(bytes, kind);
  return bytes + body;
}

std::string count_frame(FrameKind kind, const RankCount& count) {
  std::string body;
  put(body, count.rank);
  put(body, count.collectives);
  return frame(kind, body);
}

// Cuts text without splitting a UTF-8 character.
std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// Replaces control characters: text of other members is printed on terminals.
std::string printable(std::string text) {
  for (char& character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if ((byte < 0x20 && character != '\n' && character != '\t') || byte == 0x7f) character = ' ';
  }
  return text;
}

}  // namespace

std::string beat_frame() { return frame(FrameKind::kBeat); }
std::string opened_frame(const std::string& bits) { return frame(FrameKind::kOpened, bits); }
std::string announced_frame(const std::string& bits) { return frame(FrameKind::kAnnounced, bits); }
std::string left_frame(const RankCount& left) { return count_frame(FrameKind::kLeft, left); }
std::string completed_frame(const RankCount& completed) { return count_frame(FrameKind::kCompleted, completed); }

std::string ask_frame(const Asked& asked) {
  std::string body;
  put(body, asked.sequence);
  put(body, asked.round);
  return frame(FrameKind::kAsk, body);
}

std::string answer_frame(const RankAnswer& answer) {
  std::string body;
  put(body, answer.rank);
  put(body, answer.round);
  put(body, answer.answer.sequence);
  put(body, answer.answer.begun);
  put(body, static_cast<std::uint8_t>(answer.answer.is_known));
  put(body, answer.answer.state);
  put(body, answer.answer.quiet_millis);
  return frame(FrameKind::kAnswer, body);
}

std::string failure_frame(const Failure& failure) {
  std::string body;
  put(body, failure.kind);
  put(body, failure.rank);
  put(body, failure.after);
  const std::size_t ranks = std::min(failure.ranks.size(), kMostOtherRanks);
  put(body, static_cast<std::uint8_t>(ranks));
  for (std::size_t i = 0; i < ranks; ++i) put(body, failure.ranks[i]);
  return frame(FrameKind::kFailure, body + cut(failure.text, kMostFrameBytes - 1 - body.size()));
}

std::optional<Asked> asked_of(const Frame& frame) {
  Taker taker(frame.body);
  Asked asked;
  asked.sequence = taker.take<std::uint64_t>();
  asked.round = taker.take<std::uint32_t>();
  if (!taker.is_whole()) return std::nullopt;
  return asked;
}

std::optional<RankAnswer> answer_of(const Frame& frame) {
  Taker taker(frame.body);
  RankAnswer answer;
  answer.rank = taker.take<std::int32_t>();
  answer.round = taker.take<std::uint32_t>();
  answer.answer.sequence = taker.take<std::uint64_t>();
  answer.answer.begun = taker.take<std::uint64_t>();
  answer.answer.is_known = taker.take<std::uint8_t>() != 0;
  answer.answer.state = taker.take<State>();
  answer.answer.quiet_millis = taker.take<std::uint32_t>();
  if (!taker.is_whole()) return std::nullopt;
  return answer;
}

std::optional<RankCount> count_of(const Frame& frame) {
  Taker taker(frame.body);
  RankCount count;
  count.rank = taker.take<std::int32_t>();
  count.collectives = taker.take<std::uint64_t>();
  if (!taker.is_whole()) return std::nullopt;
  return count;
}

std::optional<Failure> failure_of(const Frame& frame) {
  Taker taker(frame.body);
  const auto kind = taker.take<std::uint8_t>();
  const auto rank = taker.take<std::int32_t>();
  const auto after = taker.take<std::uint64_t>();
  const auto count = taker.take<std::uint8_t>();
  if (taker.is_short() || kind >= kFailureKindCount || count > kMostOtherRanks) return std::nullopt;
  std::vector<std::int32_t> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(taker.take<std::int32_t>());
  if (taker.is_short()) return std::nullopt;
  return Failure{static_cast<FailureKind>(kind), rank, printable(taker.rest()), after, std::move(ranks)};
}

std::optional<Frame> FrameReader::next() {
  if (is_broken_ || filled_ < 5) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes_.data(), sizeof length);
  const auto kind = static_cast<std::uint8_t>(bytes_[4]);
  const bool is_known = kind >= static_cast<int>(FrameKind::kBeat) && kind <= static_cast<int>(FrameKind::kOpened);
  if (length < 1 || length > kMostFrameBytes || !is_known) {
    is_broken_ = true;
    return std::nullopt;
  }
  if (filled_ < 4 + length) return std::nullopt;
  Frame frame{static_cast<FrameKind>(kind), std::string(bytes_.data() + 5, length - 1)};
  filled_ -= 4 + length;
  std::memmove(bytes_.data(), bytes_.data() + 4 + length, filled_);
  return frame;
}

}  // namespace coll
