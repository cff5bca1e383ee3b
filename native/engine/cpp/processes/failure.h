#pragma once

#include <cstdint>
#include <string>
#include <tuple>

namespace coll {

// Why a group ended, in the order of precedence: causes before what they lead to. The numbers are sent, and JavaScript knows them.
enum class FailureKind : std::uint8_t { kShapes, kDTypes, kMismatch, kAborted, kFailed, kClosed, kDeadline, kLost };
constexpr int kFailureKindCount = 8;
// A failure may name a rank of an enclosing group, so that its number may exceed this group.
constexpr int kMostRank = 1 << 20;

struct Failure {
  FailureKind kind = FailureKind::kFailed;
  std::int32_t rank = -1;  // because of which the group failed
  std::string text;
  // The number of collectives that end nevertheless: the rank that fails has done its part of them.
  std::uint64_t after = 0;
};

// Members that find out different things at the same time all take the first of them in this order.
inline bool operator<(const Failure& a, const Failure& b) { return std::tie(a.kind, a.rank, a.text) < std::tie(b.kind, b.rank, b.text); }

}  // namespace coll
