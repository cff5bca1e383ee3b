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

// Sets the register of a rank to the combination of some ranks' registers, from left to right, or
// to the copy of a single one.
struct Step {
  int to;
  Sublist operands;
};

// How the elements of a chunk are computed: all of them in the same way, none depending on another.
// Either a chain, whose ranks' inputs are combined in that order, or steps on registers, one per
// rank, which hold the ranks' inputs at first.
struct Chunk {
  Sublist chain;
  std::size_t first_step = 0;
  std::size_t step_count = 0;
  Sublist targets;

  bool is_chain() const { return chain.count > 0; }
};

// A schedule for one kind of request as plain integers, independent of the algorithm that produced
// it.
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
