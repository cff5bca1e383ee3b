#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../../engine/cpp/kernels/dtype.h"

namespace coll {

// Kinds of collectives, numbered as in the list that @coll/core exports.
enum class Kind : std::uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kGather, kScatter, kAllToAll };

struct Segment {
  std::byte* data;
  std::size_t bytes;
};

// A rank's description of its call: the fields that all ranks must agree on, then further ones that errors name.
constexpr int kAnnouncedFields = 13;
constexpr int kNegotiatedFields = 8;
// The first fields, which identify the shape of a call. The last field that ranks must agree on, the number of calls that
// the rank has refused, is not part of it.
constexpr int kShapeFields = 7;
using Announcement = std::array<double, kAnnouncedFields>;

// One call of one rank. The caller keeps the memory of the segments until the call has ended.
struct Plan {
  Kind kind;
  Op op;  // a sum for kinds that combine nothing
  DType dtype;
  int root;           // -1 for kinds without one
  std::size_t count;  // elements per rank
  // Whether half types are sent as float32, and rounded once.
  bool is_wide;
  std::vector<Segment> inputs;
  std::vector<Segment> outputs;
  Announcement announcement;
  // The caller's name of the call, for failures.
  std::string name;

  bool is_mean() const { return op == Op::kMean; }
};

}  // namespace coll
