#include "flight_recorder.h"

#include <algorithm>

namespace coll {
namespace {

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

const char* name_of(State state) {
  static constexpr const char* kNames[] = {"queued", "launched", "done", "failed"};
  return kNames[static_cast<int>(state)];
}

}  // namespace

std::uint64_t FlightRecorder::add(const Operation& operation) {
  FlightEntry& entry = ring_[added_ % kEntries];
  // Assigns to the strings instead of replacing them, which reuses their memory.
  entry.group.assign(operation.group);
  entry.operation.assign(operation.name);
  entry.sequence = operation.sequence;
  entry.dtype = operation.dtype;
  entry.op = operation.op;
  entry.elements = operation.elements;
  entry.state = State::kQueued;
  entry.queued = now();
  entry.launched = 0;
  entry.settled = 0;
  return added_++;
}

void FlightRecorder::update(const Operation& operation) {
  if (operation.record + kEntries < added_) return;
  FlightEntry& entry = ring_[operation.record % kEntries];
  entry.state = operation.state;
  (operation.state == State::kLaunched ? entry.launched : entry.settled) = now();
}

std::vector<FlightEntry> FlightRecorder::entries() const {
  const std::uint64_t count = std::min<std::uint64_t>(added_, kEntries);
  std::vector<FlightEntry> all;
  for (std::uint64_t i = added_ - count; i < added_; ++i) all.push_back(ring_[i % kEntries]);
  return all;
}

std::string FlightRecorder::tail() const {
  constexpr std::uint64_t kTail = 5;
  const std::uint64_t count = std::min(added_, kTail);
  std::string text;
  for (std::uint64_t i = added_ - count; i < added_; ++i) {
    const FlightEntry& entry = ring_[i % kEntries];
    text += (text.empty() ? "" : ", ") + entry.operation + " " + std::to_string(entry.sequence) + " " + name_of(entry.state);
  }
  return text;
}

}  // namespace coll
