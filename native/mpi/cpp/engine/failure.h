#pragma once

#include <string>
#include <vector>

namespace coll {

// Why a group fails, numbered as in the list that @coll/core exports.
enum class Reason { kShapes, kDTypes, kMismatch, kAborted, kFailed, kClosed, kDeadline, kLost };

// The fields of `Failure` in @coll/core.
struct Failure {
  Reason reason;
  int rank;
  std::vector<int> ranks;
  std::string text;
};

constexpr std::size_t kMostOtherRanks = 64;

}  // namespace coll
