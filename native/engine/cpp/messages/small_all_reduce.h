#pragma once

#include <cstddef>
#include <vector>

#include "../threads/offer.h"
#include "../threads/execute.h"
#include "message_program.h"
#include "values.h"

namespace coll {

// A small all-reduce: every rank sends its contribution to all others, and every rank then does all
// of the arithmetic, as the offer's program says. That takes the time of one message instead of one
// per round. If messages cost more than rounds, a power of two of ranks gathers the contributions
// by recursive doubling: partners at distances of 1, 2, 4 and so on exchange all that they have
// (Thakur, Rabenseifner and Gropp, 2005).
class SmallAllReduce {
 public:
  // `has_fewest_messages`: use recursive doubling. Must be the same on all ranks.
  SmallAllReduce(int rank, int ranks, bool has_fewest_messages)
      : rank_(rank), ranks_(ranks), is_doubling_(has_fewest_messages && (ranks & (ranks - 1)) == 0) {}

  // Whether an offer is executed this way. The result is the same on all ranks.
  bool suits(const Offer& offer) const;
  // The messages for this offer.
  std::shared_ptr<const MessageProgram> program_for(const Offer& offer);
  // Writes the output once all contributions have arrived.
  void finish(const Offer& offer, const Values& values);

 private:
  const int rank_;
  const int ranks_;
  const bool is_doubling_;
  std::shared_ptr<const MessageProgram> programs_[kDTypeCount];
  std::vector<const std::byte*> inputs_;  // by rank, then by piece
  GroupBuffers buffers_;
  Scratch scratch_;
};

}  // namespace coll
