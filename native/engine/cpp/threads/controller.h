#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "thread_pool.h"
#include "offer.h"
#include "execute.h"

namespace coll {

// Executes collectives of all ranks in one call: the caller's thread and its helpers divide the
// elements.
class Controller {
 public:
  // `most_cores`: how many threads can run at once.
  Controller(int ranks, int most_cores);

  int ranks() const { return ranks_; }
  // Executes the part of a collective that begins at element `begin`, about a millisecond of work,
  // and returns where this part ends. `offers`: those of all ranks, in rank order, without a clash.
  std::size_t execute(const Offer* const* offers, std::size_t begin);

 private:
  void execute_range(int worker, std::size_t begin, std::size_t end);

  const int ranks_;
  const Program* program_ = nullptr;
  std::size_t begin_ = 0;
  GroupBuffers buffers_;
  std::vector<Scratch> scratch_;
  // Last, so that its threads end before what they use.
  ThreadPool pool_;
};

}  // namespace coll
