#include "agreement.h"

#include <algorithm>
#include <cstddef>

#include "../tuning.h"
#include "message_rounds.h"

namespace coll {
namespace {

// The ranks with which each rank exchanges values, in the order of the steps.
std::vector<std::vector<int>> partners_of(const MessageRounds& rounds) {
  const auto ranks = static_cast<std::size_t>(rounds.ranks);
  std::vector<std::vector<int>> partners(ranks);
  std::vector<bool> are_known(ranks * ranks);
  for (const RoundStep& step : rounds.steps) {
    if (!step.is_needed) continue;
    const auto to = static_cast<std::size_t>(step.to);
    for (std::size_t i = step.operands.first; i < step.operands.first + step.operands.count; ++i) {
      const auto from = static_cast<std::size_t>(rounds.ranks_of[i]);
      if (from == to || are_known[from * ranks + to]) continue;
      are_known[from * ranks + to] = are_known[to * ranks + from] = true;
      partners[from].push_back(step.to);
      partners[to].push_back(rounds.ranks_of[i]);
    }
  }
  return partners;
}

// A tree of least depth. Its root is the root of the collective.
std::vector<int> tree_of(const std::vector<std::vector<int>>& partners, int root) {
  constexpr int kUnknown = -2;
  std::vector<int> parents(partners.size(), kUnknown);
  std::vector<int> reached;
  const auto reach = [&](int rank, int from) {
    int& parent = parents[static_cast<std::size_t>(rank)];
    if (parent != kUnknown) return;
    parent = from;
    reached.push_back(rank);
  };
  reach(root, -1);
  std::size_t next = 0;
  for (int rank = 0; rank < static_cast<int>(partners.size()); ++rank) {
    for (; next < reached.size(); ++next) {
      for (const int partner : partners[static_cast<std::size_t>(reached[next])]) reach(partner, reached[next]);
    }
    reach(rank, root);
  }
  return parents;
}

}  // namespace

AgreementPlan agreement_plan(const MessageRounds& rounds) {
  if (rounds.ranks <= tuning::kMostRanksThatAnnounce) return {};
  const std::vector<std::vector<int>> partners = partners_of(rounds);
  const auto has_all = [&](const std::vector<int>& some) { return some.size() + 1 == partners.size(); };
  if (std::all_of(partners.begin(), partners.end(), has_all)) return {};
  const bool is_implied = rounds.kind == Kind::kAllReduce || rounds.kind == Kind::kReduceScatter;
  return {is_implied ? Agreement::kImplied : Agreement::kGathered, tree_of(partners, rounds.root)};
}

}  // namespace coll
