#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "crew.h"
#include "offer.h"
#include "execute.h"

namespace coll {

// Executes collectives of all ranks in one call: the caller's thread and helpers of the process
// divide the elements.
class Controller {
 public:
  // `most_helpers`: how many threads of the process may help the caller's thread.
  Controller(int ranks, int most_helpers, const Thresholds& thresholds = {});

  int ranks() const { return ranks_; }
  // Executes a part of a collective from element `begin` on, about a millisecond of work, and
  // returns the element at which the part ends. `offers`: the offers of all ranks, in rank order,
  // without a clash.
  std::size_t execute(const Offer* const* offers, std::size_t begin);

 private:
  void execute_range(int worker, std::size_t begin, std::size_t end);

  const int ranks_;
  const Thresholds thresholds_;
  const Program* program_ = nullptr;
  std::size_t begin_ = 0;
  GroupBuffers buffers_;
  std::vector<Scratch> scratch_;  // by worker
  // The program that all scratch memory fits.
  std::shared_ptr<const Program> fitted_;
  SharedJob job_;
  const std::shared_ptr<Crew> crew_ = Crew::of_process();
};

}  // namespace coll
