#include "threads/execute.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "error.h"
#include "shared_cases.h"

namespace coll::test {
namespace {

// The buffers of all ranks, in pieces. The outputs are the inputs or separate memory.
struct Memory {
  Memory(const Program& program, std::size_t length, std::vector<std::size_t> starts, bool in_place) : begins(std::move(starts)) {
    const std::size_t ranks = static_cast<std::size_t>(program.ranks);
    const std::size_t in = length / (program.has_block_in() ? ranks : 1) * byte_size(program.dtype);
    const std::size_t out = length / (program.has_block_out() ? ranks : 1) * byte_size(result_of(program.dtype, program.op));
    begins.push_back(length);
    inputs.assign(ranks, std::vector<std::byte>(in));
    outputs.assign(ranks, std::vector<std::byte>(out));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::vector<std::byte>& written = in_place ? inputs[rank] : outputs[rank];
      input_pieces.push_back(pieces_of(inputs[rank], byte_size(program.dtype)));
      output_pieces.push_back(pieces_of(written, byte_size(result_of(program.dtype, program.op))));
      input_pointers.emplace_back(input_pieces.back().begin(), input_pieces.back().end());
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) buffers.ranks.push_back({input_pointers[rank].data(), output_pieces[rank].data()});
    buffers.begins = begins.data();
    buffers.piece_count = begins.size() - 1;
  }

  std::vector<std::byte*> pieces_of(std::vector<std::byte>& buffer, std::size_t size) const {
    std::vector<std::byte*> pieces;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) pieces.push_back(buffer.data() + begins[i] * size);
    return pieces;
  }

  std::vector<std::size_t> begins;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::vector<std::byte*>> input_pieces;
  std::vector<std::vector<std::byte*>> output_pieces;
  std::vector<std::vector<const std::byte*>> input_pointers;
  GroupBuffers buffers;
};

void fill(Memory& memory, unsigned seed) {
  std::mt19937 random(seed);
  for (std::vector<std::byte>& buffer : memory.inputs) {
    for (std::byte& byte : buffer) byte = static_cast<std::byte>(random() & 0x3f);
  }
}

void execute_all(const Program& program, Memory& memory) {
  Scratch scratch;
  scratch.fit(program);
  execute(program, memory.buffers, 0, memory.buffers.length(), scratch);
}

TEST(Execute, ReturnsTheSameBitsForStepsAndChains) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kUint64}) {
    for (const Op op : {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kProduct}) {
      for (const int ranks : {1, 2, 3, 5, 9}) {
        for (const std::size_t length : {0u, 1u, 7u, 1000u, 5000u}) {
          const Program chained = parse(chains(Kind::kAllReduce, op, dtype, ranks));
          const Program stepped = parse(steps(op, dtype, ranks));
          Memory one(chained, length, {0}, false);
          Memory other(stepped, length, {0}, false);
          fill(one, 7);
          fill(other, 7);
          execute_all(chained, one);
          execute_all(stepped, other);
          EXPECT_EQ(one.outputs, other.outputs) << static_cast<int>(dtype) << ' ' << static_cast<int>(op) << ' ' << ranks << ' ' << length;
        }
      }
    }
  }
}

TEST(Execute, TreatsPiecesAsOneBuffer) {
  const Program program = parse(chains(Kind::kAllReduce, Op::kSum, DType::kFloat32, 3));
  Memory whole(program, 1000, {0}, false);
  Memory pieces(program, 1000, {0, 1, 1, 400, 999}, false);
  fill(whole, 3);
  fill(pieces, 3);
  execute_all(program, whole);
  execute_all(program, pieces);
  EXPECT_EQ(whole.outputs, pieces.outputs);
}

TEST(Execute, ReturnsTheSameResultForAnyDivisionIntoRanges) {
  const Program program = parse(steps(Op::kSum, DType::kFloat32, 4));
  Memory whole(program, 777, {0, 300}, true);
  Memory parts(program, 777, {0, 300}, true);
  fill(whole, 5);
  fill(parts, 5);
  execute_all(program, whole);
  Scratch scratch;
  scratch.fit(program);
  for (const auto& [begin, end] : {std::pair{500u, 777u}, {0u, 1u}, {1u, 300u}, {300u, 500u}}) {
    execute(program, parts.buffers, begin, end, scratch);
  }
  EXPECT_EQ(whole.inputs, parts.inputs);
}

TEST(Execute, WritesOnlyToRanksWithOutputs) {
  const Program program = parse(chains(Kind::kAllReduce, Op::kSum, DType::kFloat32, 3));
  Memory memory(program, 100, {0}, false);
  fill(memory, 9);
  const std::vector<std::byte> zeros = memory.outputs[0];
  memory.buffers.ranks[0].outputs = memory.buffers.ranks[2].outputs = nullptr;
  execute_all(program, memory);
  EXPECT_EQ(memory.outputs[0], zeros);
  EXPECT_NE(memory.outputs[1], zeros);
  EXPECT_EQ(memory.outputs[2], zeros);
}

TEST(Execute, MovesBlocks) {
  const Program gather = parse(chains(Kind::kAllGather, Op::kSum, DType::kInt16, 3));
  Memory memory(gather, 30, {0}, false);
  fill(memory, 2);
  execute_all(gather, memory);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(0, std::memcmp(memory.outputs[1].data() + rank * 20, memory.inputs[rank].data(), 20));
  }
  const Program scatter = parse(chains(Kind::kReduceScatter, Op::kSum, DType::kUint8, 2));
  Memory blocks(scatter, 8, {0}, false);
  for (std::size_t i = 0; i < 8; ++i) blocks.inputs[0][i] = blocks.inputs[1][i] = static_cast<std::byte>(i);
  execute_all(scatter, blocks);
  EXPECT_EQ(blocks.outputs[1][0], std::byte{8});
  EXPECT_EQ(blocks.outputs[1][3], std::byte{14});
}

TEST(Execute, MovesBlocksToAndFromTheRoot) {
  for (const bool in_steps : {false, true}) {
    for (const int root : {0, 2}) {
      const auto words_of = [&](Kind kind) { return in_steps ? steps_of(kind, Op::kSum, DType::kInt16, 3, root) : chains(kind, Op::kSum, DType::kInt16, 3, root); };
      const Program gather = parse(words_of(Kind::kGather));
      Memory gathered(gather, 30, {0}, false);
      fill(gathered, 2);
      execute_all(gather, gathered);
      const Program scatter = parse(words_of(Kind::kScatter));
      Memory scattered(scatter, 30, {0}, false);
      fill(scattered, 3);
      execute_all(scatter, scattered);
      for (std::size_t rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(0, std::memcmp(gathered.outputs[static_cast<std::size_t>(root)].data() + rank * 20, gathered.inputs[rank].data(), 20));
        EXPECT_EQ(0, std::memcmp(scattered.outputs[rank].data(), scattered.inputs[static_cast<std::size_t>(root)].data() + rank * 20, 20));
        // Only the root gets a result.
        if (static_cast<int>(rank) == root) continue;
        EXPECT_EQ(gathered.outputs[rank], std::vector<std::byte>(60));
      }
    }
  }
}

TEST(Execute, MovesABlockFromEveryRankToEveryRank) {
  for (const Words& words : {chains(Kind::kAllToAll, Op::kSum, DType::kInt16, 3), steps_of(Kind::kAllToAll, Op::kSum, DType::kInt16, 3, 0)}) {
    const Program program = parse(words);
    Memory memory(program, 45, {0}, false);
    fill(memory, 4);
    execute_all(program, memory);
    for (std::size_t from = 0; from < 3; ++from) {
      for (std::size_t to = 0; to < 3; ++to) {
        EXPECT_EQ(0, std::memcmp(memory.outputs[to].data() + from * 10, memory.inputs[from].data() + to * 10, 10)) << from << ' ' << to;
      }
    }
  }
}

// A random program is refused, or it accesses only the memory of its ranks: the address sanitizer
// checks this.
TEST(Execute, ExecutesEveryAcceptedProgram) {
  std::mt19937 random(11);
  int executed = 0;
  for (int round = 0; round < 4000; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 4);
    const auto dtype = static_cast<DType>(random() % (kDTypeCount - 1));
    Words words = random() % 2 == 0 ? steps(static_cast<Op>(random() % kOpCount), dtype, ranks)
                                    : chains(static_cast<Kind>(random() % kKindCount), static_cast<Op>(random() % kOpCount), dtype, ranks);
    for (auto change = random() % 3; change > 0; --change) words[random() % words.size()] = static_cast<int>(random() % 8) - 1;
    if (random() % 8 == 0) words.resize(random() % words.size());
    try {
      const Program program = parse(words);
      if (program.ranks > 16) continue;
      const std::size_t length = static_cast<std::size_t>(program.ranks * program.ranks) * (random() % 50);
      std::vector<std::size_t> starts{0};
      if (!program.has_blocks() && length > 2) starts.push_back(length / 2);
      Memory memory(program, length, starts, false);
      execute_all(program, memory);
      ++executed;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(executed, 500);
}

}  // namespace
}  // namespace coll::test
