#include "program.h"

#include <algorithm>
#include <string>

#include "../error.h"
#include "words.h"

namespace coll {
namespace {

constexpr int kMostChunks = 1 << 22;

Sublist take_ranks(WordReader& reader, Program& program, const char* what) {
  const int count = reader.take(what, 1, static_cast<int>(std::min<std::size_t>(reader.left(), 1u << 30)));
  const Sublist part{program.numbers.size(), static_cast<std::size_t>(count)};
  for (int i = 0; i < count; ++i) program.numbers.push_back(reader.take("rank", 0, program.ranks - 1));
  return part;
}

void take_chain(WordReader& reader, Program& program, std::size_t index, Chunk& chunk) {
  chunk.chain = take_ranks(reader, program, "length of a chain");
  const int* ranks = program.begin(chunk.chain);
  for (std::size_t i = 0; i < chunk.chain.count; ++i) {
    if (!program.contributes(ranks[i], index)) throw Error("a program's chain reads a rank that has no input for the chunk");
  }
  if (program.moves() && chunk.chain.count != 1) throw Error("a program combines values in a collective that only moves them");
}

void take_steps(WordReader& reader, Program& program, std::size_t index, Chunk& chunk) {
  const int count = reader.take("number of steps", 0, static_cast<int>(std::min<std::size_t>(reader.left(), 1u << 30)));
  chunk.first_step = program.steps.size();
  chunk.step_count = static_cast<std::size_t>(count);
  std::vector<bool> is_filled(static_cast<std::size_t>(program.ranks));
  for (int rank = 0; rank < program.ranks; ++rank) is_filled[static_cast<std::size_t>(rank)] = program.contributes(rank, index);
  for (int i = 0; i < count; ++i) {
    Step step{};
    step.to = reader.take("rank of a step", 0, program.ranks - 1);
    step.operands = take_ranks(reader, program, "number of operands");
    if (program.moves() && step.operands.count != 1) throw Error("a program combines values in a collective that only moves them");
    const int* operands = program.begin(step.operands);
    for (std::size_t k = 0; k < step.operands.count; ++k) {
      if (!is_filled[static_cast<std::size_t>(operands[k])]) throw Error("a program's step reads a rank that holds nothing yet");
    }
    is_filled[static_cast<std::size_t>(step.to)] = true;
    program.steps.push_back(step);
  }
  for (int rank = 0; rank < program.ranks; ++rank) {
    if (program.receives(rank, index) && !is_filled[static_cast<std::size_t>(rank)]) throw Error("a program leaves a rank without its result");
  }
}

Sublist targets_of(Program& program, std::size_t index) {
  const std::size_t first = program.numbers.size();
  for (int rank = 0; rank < program.ranks; ++rank) {
    if (program.receives(rank, index)) program.numbers.push_back(rank);
  }
  return {first, program.numbers.size() - first};
}

bool are_alike(const Program& program, const Chunk& one, const Chunk& other) {
  if (!one.is_chain() || one.chain.count != other.chain.count) return false;
  const int* const ranks = program.begin(one.chain);
  return std::equal(ranks, ranks + one.chain.count, program.begin(other.chain));
}

// Joins all chunks into one if they have the same chain: small collectives would spend their time
// on the bounds between chunks.
void join_chunks(Program& program) {
  const Chunk& first = program.chunks.front();
  const auto is_alike = [&](const Chunk& chunk) { return are_alike(program, first, chunk); };
  if (program.has_blocks() || !std::all_of(program.chunks.begin(), program.chunks.end(), is_alike)) return;
  program.chunks.resize(1);
  program.chunk_count = 1;
}

}  // namespace

Program parse_program(const std::int32_t* words, std::size_t count) {
  WordReader reader(words, count);
  Program program{};
  static_cast<Request&>(program) = take_request(reader);
  // A chunk takes at least two integers. This bound keeps a wrong count from allocating memory.
  const std::size_t most_chunks = std::min<std::size_t>(kMostChunks, reader.left() / 2);
  const int chunks = reader.take("number of chunks", 1, static_cast<int>(most_chunks));
  program.chunk_count = static_cast<std::size_t>(chunks);
  if (program.chunk_count % program.block_count() != 0) throw Error("a program's chunks cannot be divided evenly into its blocks");
  program.chunks.resize(program.chunk_count);
  for (std::size_t index = 0; index < program.chunks.size(); ++index) {
    Chunk& chunk = program.chunks[index];
    if (reader.take("form of a chunk", 0, 1) == 1) take_chain(reader, program, index, chunk);
    else take_steps(reader, program, index, chunk);
    chunk.targets = targets_of(program, index);
  }
  if (reader.left() != 0) throw Error("a program has words after its last chunk");
  join_chunks(program);
  return program;
}

}  // namespace coll
