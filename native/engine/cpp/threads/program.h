#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../kernels/dtype.h"

namespace coll {

// The collectives, numbered as in @coll/core.
enum class Kind : std::uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter };
constexpr int kKindCount = 5;

// A part of Program::numbers.
struct Numbers {
  std::size_t first = 0;
  std::size_t count = 0;
};

// A rank's register becomes the combination of some ranks' registers, from left to right; of a single one, its copy.
struct Step {
  int to;
  Numbers operands;
};

// What happens to every element of a chunk: it is the same for all of them, and elements do not meet. Either one chain, whose
// ranks' inputs are combined in that order, or steps on registers, one a rank, that begin with the ranks' inputs.
struct Chunk {
  Numbers chain;
  std::size_t first_step = 0;
  std::size_t step_count = 0;
  Numbers targets;

  bool is_chain() const { return chain.count > 0; }
};

// Where a chunk lies in a buffer.
struct ChunkPlace {
  std::size_t index;
  std::size_t end;
};

// A schedule for a kind of request as plain integers: which algorithm wrote it does not matter here.
struct Program {
  Kind kind;
  Op op;
  DType dtype;
  int ranks;
  int root;
  std::vector<Chunk> chunks;
  std::vector<Step> steps;
  std::vector<int> numbers;

  // Whether values are only moved, and bits therefore kept.
  bool moves() const { return kind == Kind::kBroadcast || kind == Kind::kAllGather; }
  // Whether the whole buffer is one block a rank, of which a rank's input (all-gather) or output (reduce-scatter) is one.
  bool has_blocks() const { return kind == Kind::kAllGather || kind == Kind::kReduceScatter; }
  bool reads(int rank) const { return kind != Kind::kBroadcast || rank == root; }
  bool writes(int rank) const { return kind != Kind::kReduce || rank == root; }
  int owner_of(std::size_t chunk) const;
  // Whether the rank's input is part of the chunk's result.
  bool contributes(int rank, std::size_t chunk) const;
  // Whether the rank gets the chunk's result.
  bool receives(int rank, std::size_t chunk) const;
  const int* begin(Numbers part) const { return numbers.data() + part.first; }
  // The chunk of element `at` < `length` of a whole buffer.
  ChunkPlace chunk_at(std::size_t length, std::size_t at) const;
};

// Reads a program from the integers
//   kind op dtype ranks root chunks, then for each chunk
//   1, length of the chain, its ranks                                   or
//   0, number of steps, for each: the rank, number of operands, their ranks.
// Throws Error for anything that is not a program whose every step can be played.
Program parse_program(const std::int32_t* words, std::size_t count);

}  // namespace coll
