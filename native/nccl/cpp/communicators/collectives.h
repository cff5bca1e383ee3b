#pragma once

#include <vector>

#include "../devices/buffer_operations.h"
#include "clique.h"

namespace coll {

// The kinds of collectives, in the order of `ncclKind` in TypeScript.
enum class Kind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kGather, kScatter, kAllToAll };
constexpr int kKindCount = 8;

// One collective of a group call, for all local ranks. If a rank has no input or output, the
// address has no allocation.
struct Call {
  Kind kind;
  int dtype;
  int op;
  int root;
  std::size_t count;
  std::vector<DeviceAddress> inputs;
  std::vector<DeviceAddress> outputs;
};

// Runs all calls as one group. Throws if memory is too small or is on another device than its rank.
SharedOperation run_calls(Runtime& runtime, const std::shared_ptr<Clique>& clique, std::vector<Call> calls);

}  // namespace coll
