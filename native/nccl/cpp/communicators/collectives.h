#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../devices/buffer_operations.h"
#include "clique.h"

namespace coll {

// The order is that of `ncclKind` in TypeScript.
enum class Kind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter };

// One collective of a group call, for all local ranks. Where a rank has no input or output, the place has no allocation.
struct Call {
  Kind kind;
  int dtype;
  int op;
  int root;
  std::size_t count;
  std::vector<Place> inputs;
  std::vector<Place> outputs;
};

struct CliqueRequest {
  nccl::UniqueId id;
  int size;
  std::vector<int> ranks;
  std::vector<int> devices;
  std::string name;
  bool is_blocking;
};

// What a split has made of some of the local ranks: their places in the parent.
struct Part {
  int color;
  std::shared_ptr<Clique> clique;
  std::vector<int> places;
};

using SharedParts = std::shared_ptr<std::vector<Part>>;

// Makes a clique and the operation that opens it. Throws for what cannot be.
std::shared_ptr<Clique> new_clique(Runtime& runtime, const CliqueRequest& request);
SharedOperation open_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique, const nccl::UniqueId& id);
SharedOperation make_unique_id(Runtime& runtime, const std::shared_ptr<nccl::UniqueId>& into);
// One color and key for each local rank.
SharedOperation split_clique(Runtime& runtime, const std::shared_ptr<Clique>& parent, std::vector<int> colors, std::vector<int> keys,
                             std::string name, const SharedParts& parts);
// All calls as one group. Throws where a place is too small or on another device than its rank.
SharedOperation run_calls(Runtime& runtime, const std::shared_ptr<Clique>& clique, std::vector<Call> calls);
SharedOperation destroy_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique);

}  // namespace coll
