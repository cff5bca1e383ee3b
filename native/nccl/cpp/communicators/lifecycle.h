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
  // Whether NCCL calls return only when they are done. Only non-blocking ones can be ended safely
  // while they wait for other ranks.
  bool is_blocking;
};

struct SplitRequest {
  // One element per local rank. A color below 0: this rank takes no part.
  std::vector<int> colors;
  std::vector<int> keys;
  // The first part of the new name, before the color.
  std::string name;
  // Whether the parts use the resources of their parent, and end with it.
  bool is_sharing = false;
};

// The result of a split for some of the local ranks, with their positions in the parent.
struct Part {
  int color;
  std::shared_ptr<Clique> clique;
  std::vector<int> places;
};

using SharedParts = std::shared_ptr<std::vector<Part>>;

// Creates a clique that is not open yet. Throws if the request is invalid.
std::shared_ptr<Clique> new_clique(Runtime& runtime, const CliqueRequest& request);
// Opens the clique. Other operations continue while it waits for ranks.
SharedOperation open_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique, const nccl::UniqueId& id);
SharedOperation make_unique_id(Runtime& runtime, const std::shared_ptr<nccl::UniqueId>& into);
SharedOperation split_clique(Runtime& runtime, const std::shared_ptr<Clique>& parent, const SplitRequest& request, const SharedParts& parts);
SharedOperation destroy_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique);

}  // namespace coll
