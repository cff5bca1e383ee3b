#pragma once

#include <cstddef>
#include <vector>

#include "../threads/offer.h"
#include "../threads/execute.h"
#include "message_program.h"
#include "values.h"

namespace coll {

// A small all-reduce: everybody's contribution goes to everybody, who then do all of the arithmetic as the offer's program says. That takes
// the time of one message, where a schedule takes that of its rounds. Where messages cost more than rounds, a power of two of ranks gather by
// recursive doubling: partners at distances of 1, 2, 4 and so on exchange all that they have so far (Thakur, Rabenseifner and Gropp, 2005).
class SmallAllReduce {
 public:
  // `has_fewest_messages`: by recursive doubling; the same on all ranks.
  SmallAllReduce(int rank, int ranks, bool has_fewest_messages)
      : rank_(rank), ranks_(ranks), is_doubling_(has_fewest_messages && (ranks & (ranks - 1)) == 0) {}

  // Whether an offer is executed this way. All ranks come to the same answer.
  bool suits(const Offer& offer) const;
  // What is exchanged for it.
  std::shared_ptr<const MessageProgram> program_for(const Offer& offer);
  // Writes the output, once all contributions are there.
  void finish(const Offer& offer, const Values& values);

 private:
  const int rank_;
  const int ranks_;
  const bool is_doubling_;
  std::shared_ptr<const MessageProgram> programs_[kDTypeCount];
  std::vector<const std::byte*> inputs_;  // rank by rank, piece by piece
  GroupBuffers buffers_;
  Scratch scratch_;
};

}  // namespace coll
