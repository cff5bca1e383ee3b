#pragma once

#include <cstddef>
#include <vector>

#include "../threads/offer.h"
#include "../threads/play.h"
#include "message_program.h"
#include "values.h"

namespace coll {

// A small all-reduce: everybody's contribution goes to everybody, who then do all of the arithmetic as the offer's program says. That takes
// the time of one message, where a schedule takes that of its rounds.
class Gathering {
 public:
  Gathering(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  // Whether an offer is played so. All ranks come to the same answer.
  static bool suits(const Offer& offer);
  // What is exchanged for it.
  std::shared_ptr<const MessageProgram> program_for(const Offer& offer);
  // Writes the output, once all contributions are there.
  void finish(const Offer& offer, const Values& values);

 private:
  const int rank_;
  const int ranks_;
  std::shared_ptr<const MessageProgram> programs_[kDTypeCount];
  std::vector<const std::byte*> inputs_;  // rank by rank, piece by piece
  Places places_;
  Scratch scratch_;
};

}  // namespace coll
