#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace coll {

// Why a group failed, in the order of precedence: causes before their consequences. The numbers are
// sent to other ranks, and JavaScript uses them as well.
enum class FailureKind : std::uint8_t { kShapes, kDTypes, kMismatch, kAborted, kFailed, kClosed, kDeadline, kLost };
constexpr int kFailureKindCount = 8;
// A failure may name a rank of an enclosing group, whose number may be larger than any of this
// group.
constexpr int kMostRank = 1 << 20;
// The most ranks that a failure names, besides the rank that caused it.
constexpr std::size_t kMostOtherRanks = 64;

struct Failure {
  FailureKind kind = FailureKind::kFailed;
  std::int32_t rank = -1;  // the rank that caused the failure
  // Completes a sentence about that rank, or about the ranks that it has waited for, without naming
  // one. For a disagreement: the whole message.
  std::string text;
  // The number of collectives that still complete: the failing rank has done its part of them.
  std::uint64_t after = 0;
  // Other ranks that the message names.
  std::vector<std::int32_t> ranks = {};
  // Further ranks that were lost. Empty in a frame, since each loss is sent in a frame of its own.
  std::vector<std::int32_t> lost = {};
};

// If members find different failures at the same time, all of them report the first in this order.
inline bool operator<(const Failure& a, const Failure& b) { return std::tie(a.kind, a.rank, a.text, a.ranks) < std::tie(b.kind, b.rank, b.text, b.ranks); }

}  // namespace coll
