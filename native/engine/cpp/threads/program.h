#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "request.h"

namespace coll {

// Consecutive items of a list, such as Program::numbers.
struct Sublist {
  std::size_t first = 0;
  std::size_t count = 0;
};

// A rank's register becomes the combination of some ranks' registers, from left to right; of a single one, its copy.
struct Step {
  int to;
  Sublist operands;
};

// What happens to every element of a chunk: it is the same for all of them, and elements do not meet. Either one chain, whose
// ranks' inputs are combined in that order, or steps on registers, one a rank, that begin with the ranks' inputs.
struct Chunk {
  Sublist chain;
  std::size_t first_step = 0;
  std::size_t step_count = 0;
  Sublist targets;

  bool is_chain() const { return chain.count > 0; }
};

// A schedule for a kind of request as plain integers: which algorithm wrote it does not matter here.
struct Program : Request {
  std::vector<Chunk> chunks;
  std::vector<Step> steps;
  std::vector<int> numbers;

  const int* begin(Sublist part) const { return numbers.data() + part.first; }
};

// Reads a program from the integers
//   kind op dtype ranks root chunks, then for each chunk
//   1, length of the chain, its ranks                                   or
//   0, number of steps, for each: the rank, number of operands, their ranks.
// Throws Error for anything that is not a program whose every step can be executed.
Program parse_program(const std::int32_t* words, std::size_t count);

}  // namespace coll
