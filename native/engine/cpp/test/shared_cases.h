#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "programs.h"
#include "test_bytes.h"
#include "threads/offer.h"
#include "threads/execute.h"

// Random collectives for tests. All ranks draw the same ones.
namespace coll::test {

// A program of steps for a collective of any kind. In an all-reduce, ranks get results that were
// combined in different orders.
inline Words steps_of(Kind kind, Op op, DType dtype, int ranks, int root) {
  if (kind == Kind::kAllReduce && op != Op::kMax) return steps(op, dtype, ranks);
  const int chunks = chunks_of(kind, ranks);
  Words words = head(kind, op, dtype, ranks, root, chunks);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int owner = kind == Kind::kReduceScatter ? chunk : root;
    if (moves(kind) || kind == Kind::kAllReduce) {
      words.insert(words.end(), {0, ranks});
      for (int rank = 0; rank < ranks; ++rank) {
        if (moves(kind)) words.insert(words.end(), {rank, 1, source_of(kind, chunk, ranks, root)});
        else words.insert(words.end(), {rank, 2, rank, (rank + 1) % ranks});
      }
      continue;
    }
    words.insert(words.end(), {0, 1, owner, ranks});
    for (int i = 0; i < ranks; ++i) words.push_back((chunk + i) % ranks);
  }
  return words;
}

// How a rank's memory is allocated and aligned.
struct Habit {
  bool has_shared_input;
  bool has_shared_output;
  bool is_in_place;
  std::size_t shift;  // from the begin of a cache line, in elements
};

struct SharedCase {
  std::shared_ptr<const Program> program;
  std::vector<std::size_t> begins;
  std::vector<Habit> habits;
  unsigned seed;

  std::size_t length() const { return begins.back(); }
  std::size_t ranks() const { return static_cast<std::size_t>(program->ranks); }
  std::size_t input_size() const { return byte_size(program->dtype); }
  std::size_t output_size() const { return byte_size(result_of(program->dtype, program->op)); }
  std::size_t input_count() const { return program->has_block_in() ? length() / ranks() : length(); }
  std::size_t output_count() const { return program->has_block_out() ? length() / ranks() : length(); }
  std::string name() const {
    return "kind " + std::to_string(static_cast<int>(program->kind)) + " op " + std::to_string(static_cast<int>(program->op)) + " dtype " +
           std::to_string(static_cast<int>(program->dtype)) + " length " + std::to_string(length()) + " pieces " + std::to_string(begins.size() - 1) +
           (program->chunks[0].is_chain() ? " chains" : " steps");
  }
};

inline std::vector<std::byte> input_of(const SharedCase& it, int rank) {
  std::vector<std::byte> bytes(it.input_count() * it.input_size());
  // Fills floats with any bits except NaN and infinity, and bools with 0 and 1.
  fill_randomly(bytes, it.seed * 64 + static_cast<unsigned>(rank), it.program->dtype == DType::kBool ? 1 : 0x3f);
  return bytes;
}

// The expected result of a rank, computed on one thread.
inline std::vector<std::byte> expected(const SharedCase& it, int rank) {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<const std::byte*> pointers;
  std::vector<std::byte> output(it.output_count() * it.output_size());
  std::byte* const into = output.data();
  for (int other = 0; other < it.program->ranks; ++other) inputs.push_back(input_of(it, other));
  for (const auto& input : inputs) pointers.push_back(input.data());
  const std::size_t begins[] = {0, it.length()};
  GroupBuffers buffers;
  for (std::size_t other = 0; other < inputs.size(); ++other) {
    buffers.ranks.push_back({&pointers[other], static_cast<int>(other) == rank && it.program->writes(rank) ? &into : nullptr});
  }
  buffers.begins = begins;
  buffers.piece_count = 1;
  Scratch scratch;
  scratch.fit(*it.program);
  execute(*it.program, buffers, 0, it.length(), scratch);
  return output;
}

inline std::vector<std::size_t> draw_begins(std::mt19937& random, std::size_t length, bool in_one_piece) {
  std::vector<std::size_t> begins{0};
  const auto pieces = in_one_piece || random() % 2 == 0 ? 1 : 1 + random() % 5;
  for (std::size_t i = 1; i < pieces; ++i) begins.push_back(length == 0 ? 0 : random() % length);
  // Sometimes uses more pieces than can be announced.
  if (!in_one_piece && length > 3000 && random() % 8 == 0) {
    for (std::size_t at = 1; at < 1200; ++at) begins.push_back(at);
  }
  std::sort(begins.begin(), begins.end());
  begins.push_back(length);
  return begins;
}

inline SharedCase draw(std::mt19937& random, int ranks, std::size_t most_bytes) {
  SharedCase it;
  const auto kind = static_cast<Kind>(random() % kKindCount);
  const auto dtype = static_cast<DType>(random() % kDTypeCount);
  const Op op = moves(kind) ? Op::kSum : static_cast<Op>(random() % (dtype == DType::kBool ? 1 : kOpCount));
  const int root = static_cast<int>(random() % static_cast<unsigned>(ranks));
  it.program = std::make_shared<const Program>(parse(random() % 3 == 0 ? steps_of(kind, op, dtype, ranks, root) : chains(kind, op, dtype, ranks, root)));
  const std::size_t limits[] = {0, 8, 200, 3000, 70'000, most_bytes};
  const std::size_t limit = limits[random() % 6];
  std::size_t length = limit == 0 ? 0 : random() % (limit / byte_size(dtype) + 1);
  length = length / it.program->block_count() * it.program->block_count();
  it.begins = draw_begins(random, length, it.program->has_blocks());
  const auto habit = random() % 3;  // all ordinary, all shared, anything
  for (int rank = 0; rank < ranks; ++rank) {
    Habit own{random() % 2 == 0, random() % 2 == 0, random() % 2 == 0, random() % 5};
    if (habit < 2) own.has_shared_input = own.has_shared_output = habit == 1;
    if (it.input_size() != it.output_size() || kind == Kind::kAllToAll) own.is_in_place = false;
    it.habits.push_back(own);
  }
  it.seed = static_cast<unsigned>(random());
  return it;
}

}  // namespace coll::test
