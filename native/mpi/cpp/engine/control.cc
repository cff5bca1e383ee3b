#include "control.h"

#include <algorithm>
#include <cstring>

namespace coll {

void Control::send(int to, Note note, Bytes bytes) {
  Outgoing& sent = outgoing_.emplace_back();
  sent.bytes = std::move(bytes);
  mpi_.isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), to, static_cast<int>(note), comm_, sent.request);
}

std::optional<Received> Control::receive() {
  if (!incoming_) {
    Envelope envelope{};
    if (!mpi_.iprobe(comm_, envelope)) return std::nullopt;
    incoming_ = Received{static_cast<Note>(envelope.tag), envelope.source, Bytes(static_cast<std::size_t>(envelope.bytes))};
    mpi_.ireceive(incoming_->bytes.data(), envelope.bytes, envelope.source, envelope.tag, comm_, incoming_request_);
  }
  if (!mpi_.test(incoming_request_)) return std::nullopt;
  std::optional<Received> received = std::move(incoming_);
  incoming_.reset();
  return received;
}

bool Control::flush() {
  outgoing_.remove_if([this](Outgoing& sent) { return mpi_.test(sent.request); });
  return outgoing_.empty();
}

Bytes encode(const Failure& failure) {
  const std::size_t ranks = std::min(failure.ranks.size(), kMostOtherRanks);
  std::vector<std::int32_t> words = {static_cast<std::int32_t>(failure.reason), failure.rank, static_cast<std::int32_t>(ranks)};
  words.insert(words.end(), failure.ranks.begin(), failure.ranks.begin() + static_cast<std::ptrdiff_t>(ranks));
  Bytes bytes(words.size() * 4 + failure.text.size());
  std::memcpy(bytes.data(), words.data(), words.size() * 4);
  if (!failure.text.empty()) std::memcpy(bytes.data() + words.size() * 4, failure.text.data(), failure.text.size());
  return bytes;
}

Failure decode_failure(const Bytes& bytes) {
  std::int32_t head[3];
  std::memcpy(head, bytes.data(), sizeof head);
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(head[2]));
  if (!ranks.empty()) std::memcpy(ranks.data(), bytes.data() + sizeof head, ranks.size() * 4);
  const std::size_t at = sizeof head + ranks.size() * 4;
  const auto* const text = reinterpret_cast<const char*>(bytes.data()) + at;
  return {static_cast<Reason>(head[0]), head[1], {ranks.begin(), ranks.end()}, std::string(text, bytes.size() - at)};
}

Bytes encode(std::uint64_t number) {
  Bytes bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::uint64_t decode_number(const Bytes& bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

}  // namespace coll
