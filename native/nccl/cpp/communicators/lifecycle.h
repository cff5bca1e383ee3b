#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../work/runtime.h"
#include "clique.h"

namespace coll {

struct CliqueRequest {
  int size;
  std::vector<int> ranks;
  std::vector<int> devices;
  std::string name;
  // Whether NCCL keeps its caller until a call is done. Only others can be ended safely while they wait for other ranks.
  bool is_blocking;
};

struct SplitRequest {
  // One of each for each local rank; a color below 0 takes no part.
  std::vector<int> colors;
  std::vector<int> keys;
  // Before the color.
  std::string name;
  // The parts use the resources of their parent, and end with it.
  bool is_sharing = false;
};

// What a split has made of some of the local ranks: their places in the parent.
struct Part {
  int color;
  std::shared_ptr<Clique> clique;
  std::vector<int> places;
};

using SharedParts = std::shared_ptr<std::vector<Part>>;

// A clique, not opened yet. Throws for what cannot be.
std::shared_ptr<Clique> new_clique(Runtime& runtime, const CliqueRequest& request);
// Other operations go on while ranks are waited for.
SharedOperation open_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique, const nccl::UniqueId& id);
SharedOperation make_unique_id(Runtime& runtime, const std::shared_ptr<nccl::UniqueId>& into);
SharedOperation split_clique(Runtime& runtime, const std::shared_ptr<Clique>& parent, const SplitRequest& request, const SharedParts& parts);
SharedOperation destroy_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique);

}  // namespace coll
