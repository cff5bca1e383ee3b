#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace coll {

// Why a group ended, in the order of precedence: causes before what they lead to. The numbers are sent, and JavaScript knows them.
enum class FailureKind : std::uint8_t { kShapes, kDTypes, kMismatch, kAborted, kFailed, kClosed, kDeadline, kLost };
constexpr int kFailureKindCount = 8;
// A failure may name a rank of an enclosing group, so that its number may exceed this group.
constexpr int kMostRank = 1 << 20;
// A failure names at most so many ranks beside the one that caused it.
constexpr std::size_t kMostOtherRanks = 64;

struct Failure {
  FailureKind kind = FailureKind::kFailed;
  std::int32_t rank = -1;  // because of which the group failed
  // Completes a sentence about that rank, or about those that it has waited for; names no rank. Of a disagreement: the whole message.
  std::string text;
  // The number of collectives that end nevertheless: the rank that fails has done its part of them.
  std::uint64_t after = 0;
  // Others that the message names.
  std::vector<std::int32_t> ranks = {};
};

// Members that find out different things at the same time all take the first of them in this order.
inline bool operator<(const Failure& a, const Failure& b) { return std::tie(a.kind, a.rank, a.text, a.ranks) < std::tie(b.kind, b.rank, b.text, b.ranks); }

}  // namespace coll
