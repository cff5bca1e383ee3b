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
  // Empty and 0 if the operation is not a collective.
  const char* dtype;
  const char* op;
  std::size_t elements;
  State state;
  // Times in milliseconds since 1970; 0 for events that have not happened.
  double queued;
  double launched;
  double settled;
};

// The latest operations of the process. The caller holds the scheduler's lock.
class FlightRecorder {
 public:
  static constexpr std::size_t kEntries = 1024;

  // Adds an entry. Returns a number that identifies it as long as it is kept.
  std::uint64_t add(const Operation& operation);
  void update(const Operation& operation);
  // All entries, oldest first.
  std::vector<FlightEntry> entries() const;
  // The latest entries in one line, for errors.
  std::string tail() const;

 private:
  std::vector<FlightEntry> ring_ = std::vector<FlightEntry>(kEntries);
  std::uint64_t added_ = 0;
};

}  // namespace coll
