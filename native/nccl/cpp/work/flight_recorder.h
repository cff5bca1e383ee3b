#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "operation.h"

namespace coll {

struct FlightEntry {
  std::string group;
  std::uint64_t sequence;
  std::string operation;
  // Empty, and 0, where it is no collective.
  const char* dtype;
  const char* op;
  std::size_t elements;
  State state;
  // Milliseconds since 1970; 0 for what has not happened.
  double queued;
  double launched;
  double settled;
};

// The latest operations of the process. Under the scheduler's lock.
class FlightRecorder {
 public:
  static constexpr std::size_t kEntries = 1024;

  // The number that finds the entry again as long as it is here.
  std::uint64_t add(const Operation& operation);
  void update(const Operation& operation);
  // Oldest first.
  std::vector<FlightEntry> entries() const;
  // The end of it in one line, for errors.
  std::string tail() const;

 private:
  std::vector<FlightEntry> ring_ = std::vector<FlightEntry>(kEntries);
  std::uint64_t added_ = 0;
};

}  // namespace coll
