#pragma once

#include <cstdint>
#include <vector>

namespace coll {

struct MessageRounds;

// How a rank knows that all ranks ask for the same collective.
enum class Agreement : std::uint8_t {
  kAnnounced,  // every peer of this rank has announced it
  // Along a tree of ranks: each announces it to its parent once its children have done so, and to
  // its children once it knows that all ranks agree.
  kGathered,
  // By the results: each element of a result depends on contributions of all ranks, and every rank
  // checks the announcement of a peer before it uses the peer's values.
  kImplied,
};

struct AgreementPlan {
  // A collective of no elements has no results: it needs kGathered instead of kImplied.
  Agreement agreement = Agreement::kAnnounced;
  // The parent of each rank in the tree, -1 for the root; empty for kAnnounced. A rank exchanges
  // values with its parent. The exception: if a set of ranks exchanges no values with the root, one
  // of them becomes a child of the root.
  std::vector<int> parents;
};

// All ranks derive the same plan, because they know the steps of all ranks.
AgreementPlan agreement_plan(const MessageRounds& rounds);

}  // namespace coll
